//! The entry point of lowering: lowers one function of a module.

use super::function::FunctionState;
use super::lowering::Lower;
use crate::ptx::error::PtxError;
use crate::ptx::ir::{Function, Guard, Inst, Op, Passed};
use crate::ptx::scan::Scanner;
use crate::ptx::source::{Bases, Source};
use crate::ptx::unit::{self, Parameter};

/// Lowers the function with an index, in a module whose variables start at `bases`.
pub fn lower(source: &Source, bases: Bases, index: u32) -> Result<Function, PtxError> {
    let missing = || PtxError::Unresolved(format!("function {index}"));
    let (declared, unit) = source.function(index).ok_or_else(missing)?;
    let text = source.units[unit as usize].text.as_str();
    let lower = Lower { source, unit, text, bases, code: Vec::new() };
    lower.function(declared).map_err(|error| error.within(&declared.name))
}

impl Lower<'_> {
    fn function(mut self, declared: &unit::Function) -> Result<Function, PtxError> {
        let mut state = FunctionState::new(declared.entry, self.source.common_end);
        let (mut params, mut results) = (Vec::new(), Vec::new());
        if declared.entry {
            for (param, place) in declared.params.iter().zip(declared.layout()) {
                state.kernel_param(&param.name, place.offset as u32);
            }
        } else {
            let both = [(&declared.results, &mut results), (&declared.params, &mut params)];
            for (declared_params, passed) in both {
                for param in declared_params {
                    let Some(place) = state.parameter(param) else {
                        return Err(self.unsupported(declared.at, "this kind of parameter"));
                    };
                    passed.push(place);
                }
            }
        }
        let body = declared.body.clone().unwrap_or(0..0);
        self.statements(&mut state, &mut Scanner::new(self.text, body.start, body.end))?;
        // A body that ends without `ret` returns implicitly.
        self.code.push(Inst { guard: Guard::Always, op: Op::Return });
        self.resolve(&state)?;
        let (slots, preds, local) = state.sizes();
        let fixed = state.fixed();
        let shared = state.shared_end;
        let name = declared.name.clone();
        self.code.shrink_to_fit();
        Ok(Function { name, code: self.code, shared, slots, preds, local, fixed, params, results })
    }
}

impl FunctionState {
    fn parameter(&mut self, param: &Parameter) -> Option<Passed> {
        if param.register {
            if param.ty.bits() > 64 {
                return None;
            }
            return self.declare_one(param.ty, &param.name);
        }
        self.frame_variable(&param.name, param.size, param.align)
    }
}
