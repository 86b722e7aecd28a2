//! A block of threads, whose warps take turns.

use super::block_state::BlockState;
use super::launch::Launch;
use super::memory::Fault;
use super::warp::{Turn, Warp};

/// Number of instructions that a warp runs before it's the next warp's turn.
const WARP_TURN: u32 = 16384;

/// A block and its warps. Each call of [`Self::step`] runs a part of the block.
pub struct Block<'l> {
    state: BlockState<'l>,
    warps: Vec<Warp>,
    turns: Vec<Turn>,
}

impl<'l> Block<'l> {
    /// Creates the state for running blocks of a grid, one after another.
    pub fn new(launch: &'l Launch, worker: u32) -> Self {
        Self { state: BlockState::new(launch, worker), warps: Vec::new(), turns: Vec::new() }
    }

    /// Starts the grid's block with this index.
    pub fn start(&mut self, index: u64) -> Result<(), Fault> {
        let launch = self.state.launch;
        self.state.start(index);
        let warps = launch.threads().div_ceil(32);
        self.warps.resize_with(warps as usize, Warp::new);
        self.turns.clear();
        self.turns.resize(warps as usize, Turn::Yielded);
        for (i, warp) in self.warps.iter_mut().enumerate() {
            let lanes = launch.threads() - i as u32 * 32;
            warp.start(&self.state, i as u32, lanes)?;
        }
        Ok(())
    }

    /// Gives each warp one turn. Returns whether the block is done.
    pub fn step(&mut self) -> Result<bool, Fault> {
        let (mut done, mut progress) = (true, false);
        for (warp, turn) in self.warps.iter_mut().zip(&mut self.turns) {
            if *turn == Turn::Done {
                continue;
            }
            let before = *turn;
            let completed = self.state.completed();
            *turn = warp.run(&mut self.state, WARP_TURN)?;
            done &= *turn == Turn::Done;
            progress |= *turn != Turn::Blocked
                || before != Turn::Blocked
                || completed != self.state.completed();
        }
        if done || progress {
            self.state.stuck = false;
        } else if self.state.stuck {
            // All remaining threads are waiting for a barrier that none of them can complete. The
            // hardware would hang in such a deadlock, so the kernel fails instead.
            return Err(Fault::LaunchFailed);
        } else {
            self.state.stuck = true;
        }
        Ok(done)
    }
}
