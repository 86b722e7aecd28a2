//! Operations across a warp's lanes or a block's warps.

use super::block_state::BlockState;
use super::lanes::each_lane;
use super::memory::Fault;
use super::warp::{Group, Next, State, Warp};
use crate::ptx::ir::{Barrier, BarrierKind, Match, Op, ReduxOp, Shfl, ShflMode, Vote, VoteKind};

impl Warp {
    /// Returns whether the group must wait for lanes in `members` that haven't reached this
    /// instruction. Updates the group's state accordingly.
    fn waits(&self, group: &mut Group, members: u32) -> bool {
        if group.state == State::Forced || members & self.live & !group.mask == 0 {
            group.state = State::Ready;
            return false;
        }
        group.state = State::Warp;
        true
    }

    fn members(&self, group: &Group, slot: u16) -> u32 {
        let lane = group.mask.trailing_zeros() as usize;
        self.regs[group.base + slot as usize][lane] as u32
    }

    pub(crate) fn collective(
        &mut self,
        block: &mut BlockState<'_>,
        group: &mut Group,
        op: &Op,
    ) -> Result<Next, Fault> {
        let members = match op {
            Op::WarpSync { members } | Op::Redux { members, .. } | Op::Elect { members, .. } => {
                Some(*members)
            }
            Op::Match(m) => Some(m.members),
            Op::Shfl(s) => s.members,
            Op::Vote(v) => v.members,
            _ => None,
        };
        if let Some(slot) = members {
            let members = self.members(group, slot);
            if self.waits(group, members) {
                return Ok(Next::Wait);
            }
        }
        match op {
            Op::Barrier(barrier) => return self.barrier(block, group, barrier),
            Op::ActiveMask { d } => {
                let mask = group.mask;
                self.set_reg(group, *d, mask, |_| mask.into());
            }
            Op::Shfl(shfl) => self.shfl(group, shfl),
            Op::Vote(vote) => self.vote(group, vote),
            Op::Match(matching) => self.matching(group, matching),
            Op::Redux { op, d, a, .. } => {
                let values = self.regs[group.base + *a as usize];
                let mut lanes =
                    (0..32).filter(|i| group.mask >> i & 1 == 1).map(|i| values[i] as u32);
                let first = lanes.next().unwrap_or(0);
                let value = lanes.fold(first, |x, y| match op {
                    ReduxOp::Add => x.wrapping_add(y),
                    ReduxOp::MinU => x.min(y),
                    ReduxOp::MaxU => x.max(y),
                    ReduxOp::MinS => (x as i32).min(y as i32) as u32,
                    ReduxOp::MaxS => (x as i32).max(y as i32) as u32,
                    ReduxOp::And => x & y,
                    ReduxOp::Or => x | y,
                    ReduxOp::Xor => x ^ y,
                });
                self.set_reg(group, *d, group.mask, |_| value.into());
            }
            Op::Elect { d, p, .. } => {
                let lane = group.mask.trailing_zeros();
                if let Some(d) = d {
                    self.set_reg(group, *d, group.mask, |_| lane.into());
                }
                self.set_pred(group, *p, 1 << lane, group.mask);
            }
            _ => {}
        }
        Ok(Next::Step)
    }

    fn barrier(
        &mut self,
        block: &mut BlockState<'_>,
        group: &mut Group,
        barrier: &Barrier,
    ) -> Result<Next, Fault> {
        let lane = group.mask.trailing_zeros() as usize;
        let id = self.regs[group.base + barrier.id as usize][lane] as u32 as usize;
        if id >= 16 {
            return Err(Fault::IllegalInstruction);
        }
        let count = match barrier.count {
            Some(slot) => self.regs[group.base + slot as usize][lane] as u32,
            None => 0,
        };
        // If the barrier has a thread count, each warp counts as 32 threads, even if the block's
        // last warp has fewer.
        let mut arriving = group.mask.count_ones();
        if count != 0 && group.mask == self.initial {
            arriving = 32;
        }
        let input = barrier.input.map_or(0, |p| self.pred(group, p) & group.mask);
        let state = &mut block.barriers[id];
        let turn = state.turn;
        state.arrived += arriving;
        state.set += input.count_ones();
        state.asked += group.mask.count_ones();
        if count != 0 {
            state.count = count;
        }
        block.complete(id);
        if barrier.kind == BarrierKind::Arrive {
            return Ok(Next::Step);
        }
        // When the barrier completes, the group continues after this instruction.
        group.state = State::Barrier { id, turn };
        Ok(Next::Wait)
    }

    /// Stores a completed barrier's results in the registers of a group that was waiting for the
    /// barrier, and lets the group continue.
    pub(crate) fn passed(&mut self, block: &BlockState<'_>, group: &mut Group, id: usize) {
        if let Some(function) = block.launch.program.function(group.function)
            && let Op::Barrier(barrier) = &function.code[group.pc as usize].op
        {
            let state = &block.barriers[id];
            let holds = match barrier.kind {
                BarrierKind::And => state.last_set == state.last_asked,
                _ => state.last_set > 0,
            };
            if let Some(d) = barrier.d {
                self.set_reg(group, d, group.mask, |_| state.last_set.into());
            }
            if let Some(p) = barrier.p {
                self.set_pred(group, p, if holds { u32::MAX } else { 0 }, group.mask);
            }
        }
        group.pc += 1;
        group.state = State::Ready;
    }

    fn shfl(&mut self, group: &Group, shfl: &Shfl) {
        let a = self.regs[group.base + shfl.a as usize];
        let b = self.regs[group.base + shfl.b as usize];
        let c = self.regs[group.base + shfl.c as usize];
        let mut valid = 0u32;
        let mut out = a;
        each_lane!(group.mask, lane, {
            let (distance, control) = (b[lane] as i32 & 31, c[lane] as u32);
            let segment = (control >> 8 & 31) as i32;
            let clamp = (control & 31) as i32;
            let me = lane as i32;
            let most = (me & segment) | (clamp & !segment);
            let least = me & segment;
            let (from, ok) = match shfl.mode {
                ShflMode::Up => (me - distance, me - distance >= most),
                ShflMode::Down => (me + distance, me + distance <= most),
                ShflMode::Bfly => (me ^ distance, (me ^ distance) <= most),
                ShflMode::Idx => {
                    let from = least | (distance & !segment);
                    (from, from <= most)
                }
            };
            let from = if ok { from & 31 } else { me };
            // PTX leaves the result undefined if the source lane doesn't participate. softgpu
            // returns the register of that lane.
            out[lane] = a[from as usize] & 0xffff_ffff;
            valid |= u32::from(ok) << lane;
        });
        if let Some(d) = shfl.d {
            self.set_reg(group, d, group.mask, |i| out[i]);
        }
        if let Some(p) = shfl.p {
            self.set_pred(group, p, valid, group.mask);
        }
    }

    fn vote(&mut self, group: &Group, vote: &Vote) {
        let bits = self.pred(group, vote.input) & group.mask;
        let holds = match vote.kind {
            VoteKind::All => bits == group.mask,
            VoteKind::Any => bits != 0,
            VoteKind::Uni => bits == group.mask || bits == 0,
            VoteKind::Ballot => false,
        };
        if let Some(d) = vote.d {
            self.set_reg(group, d, group.mask, |_| bits.into());
        }
        if let Some(p) = vote.p {
            self.set_pred(group, p, if holds { u32::MAX } else { 0 }, group.mask);
        }
    }

    fn matching(&mut self, group: &Group, matching: &Match) {
        let mut values = self.regs[group.base + matching.a as usize];
        if !matching.wide {
            values.iter_mut().for_each(|v| *v &= 0xffff_ffff);
        }
        let equal = |lane: usize| {
            (0..32).fold(0u32, |mask, i| {
                mask | u32::from(group.mask >> i & 1 == 1 && values[i] == values[lane]) << i
            })
        };
        if matching.all {
            let first = group.mask.trailing_zeros() as usize;
            let all = equal(first) == group.mask;
            if let Some(d) = matching.d {
                let found = if all { group.mask } else { 0 };
                self.set_reg(group, d, group.mask, |_| found.into());
            }
            if let Some(p) = matching.p {
                self.set_pred(group, p, if all { u32::MAX } else { 0 }, group.mask);
            }
        } else if let Some(d) = matching.d {
            self.set_reg(group, d, group.mask, |i| equal(i).into());
        }
    }
}
