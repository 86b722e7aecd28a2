//! A grid: blocks spread over the host's cores.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};

use super::block::Block;
use super::heap::Heap;
use super::memory::{Fault, Ranges};
use super::printf::Printf;
use crate::ptx::ir::{Kernel, Program};

/// A kernel to be run.
pub struct Launch {
    /// Its module's code.
    pub program: Arc<Program>,
    /// The kernel.
    pub kernel: Arc<Kernel>,
    /// Blocks in each direction.
    pub grid: [u32; 3],
    /// Threads of a block in each direction.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// The parameters, as the kernel declares them.
    pub params: Vec<u8>,
    /// What kernels may access.
    pub memory: &'static Ranges,
    /// Where `printf` writes to.
    pub printf: Arc<Printf>,
    /// Where `malloc` takes from.
    pub heap: Arc<Heap>,
    /// Number of the launch.
    pub id: u64,
    /// Multiprocessors that the device says it has.
    pub processors: u32,
    /// Address of the workspace of a cooperative launch.
    pub workspace: u64,
    /// Whether all blocks must run at the same time.
    pub cooperative: bool,
}

impl Launch {
    /// Threads of a block.
    pub fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// Where the dynamic shared memory starts.
    pub fn dynamic_shared_start(&self) -> u32 {
        self.kernel.shared.next_multiple_of(16)
    }

    /// Bytes of shared memory of a block.
    pub fn shared_bytes(&self) -> usize {
        self.dynamic_shared_start() as usize + self.dynamic_shared as usize
    }

    fn blocks(&self) -> u64 {
        self.grid.iter().map(|n| u64::from(*n)).product()
    }
}

struct Grid {
    launch: Launch,
    next: AtomicU64,
    cancelled: AtomicBool,
    fault: Mutex<Option<Fault>>,
    /// Helpers at work.
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

    /// Takes blocks until none is left.
    fn work(&self, worker: u32) {
        let mut block = Block::new(&self.launch, worker);
        while !self.cancelled.load(Ordering::Relaxed) {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            if index >= self.launch.blocks() {
                break;
            }
            if let Err(fault) = self.run_block(&mut block, index) {
                self.fail(fault);
            }
        }
    }

    fn run_block(&self, block: &mut Block<'_>, index: u64) -> Result<(), Fault> {
        block.start(index)?;
        while !block.step()? {
            if self.cancelled.load(Ordering::Relaxed) {
                return Err(Fault::Cancelled);
            }
        }
        Ok(())
    }

    /// All blocks take turns, so that each can wait for the others.
    fn together(&self) {
        let mut blocks = Vec::new();
        for index in 0..self.launch.blocks() {
            let mut block = Block::new(&self.launch, index as u32 % self.launch.processors.max(1));
            if let Err(fault) = block.start(index) {
                return self.fail(fault);
            }
            blocks.push(block);
        }
        while !blocks.is_empty() {
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

/// Threads that help with grids of many blocks. The stream's own thread always takes part, so that
/// one kernel that never ends does not keep another stream's kernel from running.
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

/// Runs a grid to its end.
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
                        // Whoever comes late finds nothing to do, and is not waited for.
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
