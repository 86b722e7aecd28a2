//! The functions of the driver library that the worker calls, as methods with cuda.h's types.

use super::model::{DriverFunction, Table, snake};
use cuda_api::description::prototype;
use std::fmt::Write;

/// `vhost-backend/vhost-cuda-worker/src/driver/generated.rs`.
pub fn generate(table: &Table) -> String {
    let functions = functions(table);
    let mut code = String::from(
        "//! Made from `protocol/api.table` by `cargo xtask codegen`; not to be edited.\n\n\
         #![allow(non_snake_case, clippy::too_many_arguments)]\n\n\
         use std::ffi::{c_char, c_void};\n\
         use std::path::Path;\n\
         use std::sync::atomic::AtomicPtr;\n\n\
         use cuda_api::prototypes;\n\
         use cuda_api::sys::*;\n\n\
         use super::error::{CuError, CuResult};\n\
         use super::library::Library;\n\
         use crate::calls::gate::pass::Pass;\n\
         use crate::executor::EngineError;\n\n\
         /// The functions' addresses: null until they are looked up.\n\
         #[derive(Default)]\nstruct Addresses {\n",
    );
    for function in &functions {
        let _ = writeln!(code, "{}: AtomicPtr<c_void>,", function.method());
    }
    code += "}\n\n\
             /// The driver library's functions. Those that make the GPU work take the gate's pass.\n\
             pub struct Driver {\nlibrary: Library,\naddresses: Addresses,\n}\n\n\
             impl Driver {\n\
             /// Loads the library.\n\
             pub fn open(path: &Path) -> Result<Self, EngineError> {\n\
             Ok(Self { library: Library::open(path)?, addresses: Addresses::default() })\n}\n\n\
             /// The library itself.\n\
             pub fn library(&self) -> &Library {\n&self.library\n}\n";
    for function in &functions {
        method(&mut code, function);
    }
    code.push_str("}\n");
    code
}

/// The functions that the table lists, and those that the generated bodies of calls need.
fn functions(table: &Table) -> Vec<DriverFunction> {
    let mut functions = table.driver.clone();
    for entry in table.entries.iter().filter(|entry| entry.has("worker")) {
        let symbols = vec![entry.name.clone()];
        let function = DriverFunction { symbols, gated: entry.has("gated") };
        if functions.iter().all(|listed| listed.method() != function.method()) {
            functions.push(function);
        }
    }
    functions.sort_by(|a, b| a.symbols.cmp(&b.symbols));
    functions
}

fn method(code: &mut String, function: &DriverFunction) {
    let (name, symbol) = (function.method(), &function.symbols[0]);
    let parameters = prototype(symbol).expect("the table is checked").parameters;
    let names: Vec<String> = parameters.iter().map(|(name, _)| snake(name)).collect();
    let mut declared = vec!["&self".to_owned()];
    declared.extend(function.gated.then(|| "_pass: &Pass".to_owned()));
    declared.extend(names.iter().zip(parameters).map(|(name, (_, ty))| format!("{name}: {ty}")));
    let symbols: Vec<String> = function.symbols.iter().map(|name| format!("c\"{name}\"")).collect();
    let _ = writeln!(
        code,
        "\n/// Calls `{}`.\n///\n/// # Safety\n/// Handles and pointers must be as CUDA's \
         documentation of the function requires.\n\
         pub unsafe fn {name}({}) -> CuResult {{\n\
         let at = self.library.address(&self.addresses.{name}, &[{}])?;\n\
         // SAFETY: this is the address of the library's function of that name, and cuda.h declares\n\
         // it with this type.\n\
         let function = unsafe {{ std::mem::transmute::<*mut c_void, prototypes::{symbol}>(at) }};\n\
         // SAFETY: the caller keeps to the function's documentation.\n\
         CuError::check(unsafe {{ function({}) }})\n}}",
        function.symbols.join("` or `"),
        declared.join(", "),
        symbols.join(", "),
        names.join(", "),
    );
}

#[cfg(test)]
mod tests {
    use super::super::parse::parse;
    use super::*;

    #[test]
    fn a_gated_function_takes_a_pass_and_falls_back_to_its_older_symbol() {
        let table = parse("driver cuEventElapsedTime_v2 or cuEventElapsedTime gated").unwrap();
        let code = generate(&table);
        assert!(
            code.contains("fn cuEventElapsedTime(&self, _pass: &Pass, p_milliseconds: *mut f32")
        );
        assert!(code.contains("&[c\"cuEventElapsedTime_v2\", c\"cuEventElapsedTime\"]"));
    }

    #[test]
    fn calls_with_generated_bodies_need_no_line_of_their_own() {
        let call = "1 waited worker free order=none charges=none cuCtxResetPersistingL2Cache";
        let table = parse(&format!("{call}\ndriver cuInit")).unwrap();
        let functions = functions(&table);
        let methods: Vec<&str> = functions.iter().map(|function| function.method()).collect();
        assert_eq!(methods, ["cuCtxResetPersistingL2Cache", "cuInit"]);
    }
}
