//! A grid, whose blocks are spread over the host's cores.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};

use super::block::Block;
use super::eviction::Running;
use super::launch::Launch;
use super::memory::Fault;

struct Grid {
    launch: Launch,
    next: AtomicU64,
    cancelled: AtomicBool,
    fault: Mutex<Option<Fault>>,
    /// Number of pool threads that are running blocks of this grid.
    helpers: Mutex<u32>,
    idle: Condvar,
}

impl Grid {
    fn fail(&self, fault: Fault) {
        let mut first = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        if first.is_none() && fault != Fault::Cancelled {
            *first = Some(fault);
        }
        self.cancelled.store(true, Ordering::Relaxed);
    }

    fn finished(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
            || self.next.load(Ordering::Relaxed) >= self.launch.blocks()
    }

    /// Runs blocks until none are left or one has failed.
    fn work(&self, worker: u32) {
        let running = Running::on(self.launch.device);
        let mut block = Block::new(&self.launch, worker);
        while !self.cancelled.load(Ordering::Relaxed) {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            if index >= self.launch.blocks() {
                break;
            }
            if let Err(fault) = self.run_block(&mut block, index, &running) {
                self.fail(fault);
            }
        }
    }

    fn run_block(&self, block: &mut Block<'_>, index: u64, running: &Running) -> Result<(), Fault> {
        block.start(index)?;
        while !block.step()? {
            if self.cancelled.load(Ordering::Relaxed) {
                return Err(Fault::Cancelled);
            }
            running.obey();
        }
        Ok(())
    }

    /// Runs all blocks in turns on this thread, so that blocks of a cooperative launch can wait for
    /// each other.
    fn together(&self) {
        let running = Running::on(self.launch.device);
        let mut blocks = Vec::new();
        for index in 0..self.launch.blocks() {
            let mut block = Block::new(&self.launch, index as u32 % self.launch.processors.max(1));
            if let Err(fault) = block.start(index) {
                return self.fail(fault);
            }
            blocks.push(block);
        }
        while !blocks.is_empty() {
            running.obey();
            let mut i = 0;
            while i < blocks.len() {
                match blocks[i].step() {
                    Ok(false) => i += 1,
                    Ok(true) => drop(blocks.swap_remove(i)),
                    Err(fault) => return self.fail(fault),
                }
            }
        }
    }
}

/// Returns the thread pool that helps with grids of more than one block. The stream's own thread
/// also runs blocks of its kernel, so kernels in other streams make progress even if an endless
/// kernel occupies the whole pool.
fn pool() -> Option<&'static rayon::ThreadPool> {
    static POOL: OnceLock<Option<rayon::ThreadPool>> = OnceLock::new();
    POOL.get_or_init(|| {
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        if cores < 2 {
            return None;
        }
        rayon::ThreadPoolBuilder::new()
            .num_threads(cores - 1)
            .thread_name(|i| format!("softgpu-{i}"))
            .build()
            .ok()
    })
    .as_ref()
}

/// Runs a grid to completion.
pub fn run(launch: Launch) -> Result<(), Fault> {
    let blocks = launch.blocks();
    let grid = Arc::new(Grid {
        launch,
        next: AtomicU64::new(0),
        cancelled: AtomicBool::new(false),
        fault: Mutex::new(None),
        helpers: Mutex::new(0),
        idle: Condvar::new(),
    });
    if grid.launch.cooperative {
        grid.together();
    } else {
        if blocks > 1
            && let Some(pool) = pool()
        {
            let wanted = (blocks - 1).min(pool.current_num_threads() as u64);
            for worker in 1..=wanted as u32 {
                let grid = grid.clone();
                pool.spawn(move || {
                    {
                        // If the grid has already finished, `run` no longer waits for helpers, so
                        // this helper must not start.
                        let mut helpers =
                            grid.helpers.lock().unwrap_or_else(PoisonError::into_inner);
                        if grid.finished() {
                            return;
                        }
                        *helpers += 1;
                    }
                    grid.work(worker);
                    *grid.helpers.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
                    grid.idle.notify_all();
                });
            }
        }
        grid.work(0);
        let mut helpers = grid.helpers.lock().unwrap_or_else(PoisonError::into_inner);
        while *helpers > 0 {
            helpers = grid.idle.wait(helpers).unwrap_or_else(PoisonError::into_inner);
        }
    }
    let fault = *grid.fault.lock().unwrap_or_else(PoisonError::into_inner);
    fault.map_or(Ok(()), Err)
}
