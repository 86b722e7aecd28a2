//! Lowers a parsed module.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ptx_syntax::r#type as ast;
use ptx_syntax::r#type::{
    EntryFunctionHeaderDirective, FunctionDim, FunctionStatement, ModuleDirective,
    ParameterDirective,
};

use super::function::FunctionState;
use super::lowering::{Lower, MAX_SHARED};
use crate::ptx::ir::Guard;
use crate::ptx::ir::{
    Builtin, Function, Inst, Kernel, KernelParam, Op, Passed, Program, code_address,
};
use crate::ptx::source::{PtxError, Source, type_bytes};

/// Maximum size of a kernel's parameter buffer, in bytes.
const MAX_PARAMS: usize = 32764;

/// Lowers a module whose variables start at `base`. Returns the code, and the words in variables
/// that must contain addresses: each word's offset from `base`, and its value.
pub fn lower(source: &Source, base: u64) -> Result<(Program, Vec<(usize, u64)>), PtxError> {
    let mut lower = Lower {
        source,
        addresses: HashMap::new(),
        functions: HashMap::new(),
        builtins: HashMap::new(),
        common_shared: HashMap::new(),
        common_end: 0,
        program: Program {
            ptx_version: source.ptx_version,
            target: source.target,
            ..Program::default()
        },
    };
    for variable in &source.variables {
        lower.addresses.insert(variable.name.clone(), base.wrapping_add(variable.offset as u64));
    }
    lower.declare()?;
    lower.place_common_shared();
    lower.bodies()?;
    let mut words = Vec::new();
    for variable in &source.variables {
        for (at, symbol, add) in &variable.relocations {
            let address =
                lower.addresses.get(symbol).ok_or_else(|| PtxError::Unresolved(symbol.clone()))?;
            words.push((variable.offset + at, address.wrapping_add(*add as u64)));
        }
    }
    Ok((lower.program, words))
}

impl Lower<'_> {
    /// Assigns an index to every function, so that calls may precede definitions.
    fn declare(&mut self) -> Result<(), PtxError> {
        let source = self.source;
        for directive in &source.module.directives {
            let (name, defined) = match directive {
                ModuleDirective::EntryFunction { directive, .. } => {
                    (&directive.name.val, directive.body.is_some())
                }
                ModuleDirective::FuncFunction { directive, .. } => {
                    (&directive.name.val, directive.body.is_some())
                }
                _ => continue,
            };
            let builtin = match name.as_str() {
                "vprintf" => Some(Builtin::Vprintf),
                "__assertfail" => Some(Builtin::Assertfail),
                "malloc" => Some(Builtin::Malloc),
                "free" => Some(Builtin::Free),
                _ => None,
            };
            if let (Some(builtin), false) = (builtin, defined) {
                self.builtins.insert(name.clone(), builtin);
                continue;
            }
            if let Some(index) = self.functions.get(name) {
                self.program.functions[*index as usize].defined |= defined;
                continue;
            }
            let index = self.program.functions.len() as u32;
            self.functions.insert(name.clone(), index);
            self.addresses.insert(name.clone(), code_address(index));
            self.program.functions.push(Function {
                name: name.clone(),
                entry: 0,
                slots: 0,
                preds: 0,
                local: 0,
                fixed: Vec::new(),
                params: Vec::new(),
                results: Vec::new(),
                defined,
            });
        }
        for directive in &source.module.directives {
            if let ModuleDirective::AliasFunction { directive, .. } = directive {
                let Some(index) = self.functions.get(&directive.target.val).copied() else {
                    return Err(PtxError::Unresolved(directive.target.val.clone()));
                };
                self.functions.insert(directive.alias.val.clone(), index);
                self.addresses.insert(directive.alias.val.clone(), code_address(index));
            }
        }
        Ok(())
    }

    /// Assigns offsets to the module-level shared variables that non-kernel functions use. These
    /// variables have the same offset in all kernels, because several kernels may call the same
    /// function. Each kernel assigns offsets to the other variables that it uses.
    fn place_common_shared(&mut self) {
        let source = self.source;
        let mut used = HashSet::new();
        for directive in &source.module.directives {
            let ModuleDirective::FuncFunction { directive, .. } = directive else { continue };
            let Some(text) = source.text.get(directive.span.start..directive.span.end) else {
                continue;
            };
            for word in text.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '$')))
            {
                if let Some((name, _)) = source.shared.get_key_value(word) {
                    used.insert(name.clone());
                }
            }
        }
        let mut used: Vec<_> = used.into_iter().collect();
        used.sort();
        for name in used {
            let variable = source.shared[&name];
            if !variable.dynamic && variable.size <= MAX_SHARED as usize {
                let offset = self.common_end.next_multiple_of(variable.align as u32);
                self.common_end = offset.saturating_add(variable.size as u32);
                self.common_shared.insert(name, offset);
            }
        }
    }

    fn bodies(&mut self) -> Result<(), PtxError> {
        let source = self.source;
        for directive in &source.module.directives {
            match directive {
                ModuleDirective::EntryFunction { directive, .. } => {
                    if let Some(body) = &directive.body {
                        self.entry(directive, &body.statements)?;
                    }
                }
                ModuleDirective::FuncFunction { directive, .. } => {
                    if let Some(body) = &directive.body {
                        self.function(directive, &body.statements)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn entry(
        &mut self,
        directive: &ast::EntryFunctionDirective,
        body: &[FunctionStatement],
    ) -> Result<(), PtxError> {
        let mut state = FunctionState::new(true, self.common_end);
        let mut params: Vec<KernelParam> = Vec::new();
        let mut end = 0usize;
        for param in &directive.params {
            let Some((name, size, align)) = memory_param(param) else {
                return Err(self.unsupported(directive.span.start, "this kind of kernel parameter"));
            };
            let offset = end.next_multiple_of(align);
            end = offset + size;
            if end > MAX_PARAMS {
                return Err(self.unsupported(directive.span.start, "parameters of this total size"));
            }
            params.push(KernelParam { offset, size });
            state.kernel_param(name, offset as u32);
        }
        let (mut max_threads, mut required) = (None, None);
        for header in &directive.directives {
            match header {
                EntryFunctionHeaderDirective::MaxNTid { dim, .. } => {
                    max_threads = Some(threads(dimensions(dim)));
                }
                EntryFunctionHeaderDirective::ReqNTid { dim, .. } => {
                    max_threads = Some(threads(dimensions(dim)));
                    required = Some(dimensions(dim));
                }
                EntryFunctionHeaderDirective::ReqNctaPerCluster { dim, .. }
                    if threads(dimensions(dim)) > 1 =>
                {
                    return Err(self.unsupported(directive.span.start, "block clusters"));
                }
                _ => {}
            }
        }
        let shared = self.body(&directive.name.val, state, body, Vec::new(), Vec::new())?;
        let function = self.functions[&directive.name.val];
        let registers = self.program.functions[function as usize].slots.clamp(1, 255);
        let kernel = Kernel { function, params, shared, max_threads, required, registers };
        self.program.kernels.push((directive.name.val.clone(), Arc::new(kernel)));
        Ok(())
    }

    fn function(
        &mut self,
        directive: &ast::FuncFunctionDirective,
        body: &[FunctionStatement],
    ) -> Result<(), PtxError> {
        let mut state = FunctionState::new(false, self.common_end);
        let mut passed = Vec::new();
        for param in directive.return_param.iter().chain(&directive.params) {
            let place = match param {
                ParameterDirective::Register { ty, name, .. } => state.declare_one(ty, &name.val),
                ParameterDirective::Parameter { .. } => memory_param(param)
                    .and_then(|(name, size, align)| state.frame_variable(name, size, align)),
            };
            let Some(place) = place else {
                return Err(self.unsupported(directive.span.start, "this kind of parameter"));
            };
            passed.push(place);
        }
        let results = passed.drain(..usize::from(directive.return_param.is_some())).collect();
        for statement in &directive.pre_body_declarations {
            self.directive(&mut state, statement)?;
        }
        self.body(&directive.name.val, state, body, passed, results)?;
        Ok(())
    }

    /// Lowers a function's body. Returns the size of the shared memory that the function uses, in
    /// bytes.
    fn body(
        &mut self,
        name: &str,
        mut state: FunctionState,
        body: &[FunctionStatement],
        params: Vec<Passed>,
        results: Vec<Passed>,
    ) -> Result<u32, PtxError> {
        let entry = self.program.code.len() as u32;
        self.statements(&mut state, body)?;
        // A body that ends without `ret` returns implicitly.
        self.program.code.push(Inst { guard: Guard::Always, op: Op::Return });
        self.resolve(&state)?;
        let index = self.functions[name] as usize;
        let (slots, preds, local) = state.sizes();
        let function = &mut self.program.functions[index];
        function.entry = entry;
        function.slots = slots;
        function.preds = preds;
        function.local = local;
        function.fixed = state.fixed();
        function.params = params;
        function.results = results;
        function.defined = true;
        Ok(state.shared_end)
    }
}

fn memory_param(param: &ParameterDirective) -> Option<(&str, usize, usize)> {
    let ParameterDirective::Parameter { align, ty, name, array, .. } = param else { return None };
    let element = type_bytes(ty)?;
    let mut size = element as u64;
    for dim in array {
        size = size.checked_mul(dim.unwrap_or(0))?;
    }
    let align = align.map_or(element, |a| (a as usize).max(1));
    (size <= MAX_PARAMS as u64 && align.is_power_of_two() && align <= 4096).then_some((
        name.val.as_str(),
        size as usize,
        align,
    ))
}

fn dimensions(dim: &FunctionDim) -> [u32; 3] {
    match dim {
        FunctionDim::X { x, .. } => [*x, 1, 1],
        FunctionDim::XY { x, y, .. } => [*x, *y, 1],
        FunctionDim::XYZ { x, y, z, .. } => [*x, *y, *z],
    }
}

fn threads(dim: [u32; 3]) -> u32 {
    dim[0].saturating_mul(dim[1]).saturating_mul(dim[2])
}
