//! Function calls: frames, parameters and results.

use super::block_state::BlockState;
use super::lanes::each_lane;
use super::memory::Fault;
use super::warp::{Frame, Group, Next, Warp};
use crate::ptx::ir::function_at;
use crate::ptx::ir::{Call, CallTarget, Op, Passed};

impl Warp {
    pub(crate) fn call(
        &mut self,
        block: &mut BlockState<'_>,
        group: &mut Group,
        call: &Call,
    ) -> Result<Next, Fault> {
        let program = block.launch.program.clone();
        let callee = match call.target {
            CallTarget::Direct(index) => index,
            CallTarget::Builtin(builtin) => {
                self.builtin(block, group, builtin, call)?;
                return Ok(Next::Step);
            }
            CallTarget::Indirect(slot) => {
                let values = self.regs[group.base + slot as usize];
                let wanted = values[group.mask.trailing_zeros() as usize];
                let mut same = 0u32;
                each_lane!(group.mask, i, {
                    same |= u32::from(values[i] == wanted) << i;
                });
                if same != group.mask {
                    let mut rest = group.clone();
                    rest.mask &= !same;
                    group.mask = same;
                    self.groups.push(rest);
                }
                function_at(wanted).ok_or(Fault::IllegalInstruction)?
            }
        };
        let function = program.function(callee).ok_or(Fault::IllegalInstruction)?;
        let caller = program.function(group.function).ok_or(Fault::IllegalInstruction)?;
        let mut inner = group.clone();
        inner.frames.push(Frame {
            call: group.pc,
            caller: group.function,
            base: group.base,
            pred_base: group.pred_base,
            local_base: group.local_base,
            local_top: group.local_top,
        });
        inner.function = callee;
        inner.base = group.base + caller.slots as usize;
        inner.pred_base = group.pred_base + caller.preds as usize;
        inner.local_base = group.local_top.next_multiple_of(16);
        inner.local_top = inner.local_base + function.local;
        inner.pc = 0;
        self.enter(block, &inner)?;
        for (from, to) in call.args.iter().zip(&function.params) {
            self.pass(group, *from, &inner, *to);
        }
        *group = inner;
        Ok(Next::Jump)
    }

    pub(crate) fn leave(&mut self, block: &mut BlockState<'_>, group: &mut Group) -> Next {
        let Some(frame) = group.frames.pop() else {
            self.exit(block, group.mask);
            return Next::Gone;
        };
        let program = block.launch.program.clone();
        let inner = group.clone();
        group.function = frame.caller;
        group.base = frame.base;
        group.pred_base = frame.pred_base;
        group.local_base = frame.local_base;
        group.local_top = frame.local_top;
        group.pc = frame.call + 1;
        if let (Some(caller), Some(function)) =
            (program.function(frame.caller), program.function(inner.function))
            && let Op::Call(call) = &caller.code[frame.call as usize].op
        {
            for (from, to) in function.results.iter().zip(&call.results) {
                self.pass(&inner, *from, group, *to);
            }
        }
        Next::Jump
    }

    /// Copies an argument or result from one frame to another, in each of a group's lanes.
    fn pass(&mut self, from_group: &Group, from: Passed, to_group: &Group, to: Passed) {
        let mask = from_group.mask;
        let stride = self.stride as usize;
        let place = |group: &Group, at: u32| group.local_base as usize + at as usize;
        match (from, to) {
            (Passed::Memory(a, n), Passed::Memory(b, m)) => {
                let (a, b, n) = (place(from_group, a), place(to_group, b), n.min(m) as usize);
                each_lane!(mask, i, {
                    self.local.copy_within(i * stride + a..i * stride + a + n, i * stride + b);
                });
            }
            (Passed::Memory(a, n), to) => {
                let (a, n) = (place(from_group, a), n.min(8) as usize);
                each_lane!(mask, i, {
                    let mut word = [0; 8];
                    word[..n].copy_from_slice(&self.local[i * stride + a..][..n]);
                    self.place(to_group, to, i, u64::from_le_bytes(word));
                });
            }
            (from, Passed::Memory(b, n)) => {
                let (b, n) = (place(to_group, b), n.min(8) as usize);
                each_lane!(mask, i, {
                    let word = self.value(from_group, from, i).to_le_bytes();
                    self.local[i * stride + b..][..n].copy_from_slice(&word[..n]);
                });
            }
            (from, to) => {
                each_lane!(mask, i, {
                    let value = self.value(from_group, from, i);
                    self.place(to_group, to, i, value);
                });
            }
        }
    }

    /// Returns the value of a call argument or result in one lane.
    pub(crate) fn value(&self, group: &Group, from: Passed, lane: usize) -> u64 {
        match from {
            Passed::Register(slot) => self.regs[group.base + slot as usize][lane],
            Passed::Predicate(p) => u64::from(self.preds[group.pred_base + p as usize] >> lane & 1),
            Passed::Memory(at, n) => {
                let at = lane * self.stride as usize + (group.local_base + at) as usize;
                let n = n.min(8) as usize;
                let mut word = [0; 8];
                word[..n].copy_from_slice(&self.local[at..][..n]);
                u64::from_le_bytes(word)
            }
        }
    }

    /// Sets the value of a call argument or result in one lane.
    pub(crate) fn place(&mut self, group: &Group, to: Passed, lane: usize, value: u64) {
        match to {
            Passed::Register(slot) => self.regs[group.base + slot as usize][lane] = value,
            Passed::Predicate(p) => {
                let bits = u32::from(value != 0) << lane;
                self.set_pred(group, p, bits, 1 << lane);
            }
            Passed::Memory(at, n) => {
                let at = lane * self.stride as usize + (group.local_base + at) as usize;
                let n = n.min(8) as usize;
                self.local[at..][..n].copy_from_slice(&value.to_le_bytes()[..n]);
            }
        }
    }
}
