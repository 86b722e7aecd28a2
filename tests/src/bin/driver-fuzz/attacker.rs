//! An attacker: a process whose threads perform random operations on the same device files and the
//! same memory.

use std::ffi::{CStr, c_int};
use std::sync::atomic::{AtomicI32, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use protocol::plain::Plain;
use protocol::uapi::{
    self, Cmd, IocAlloc, IocInfo, IocPin, IocQuery, IocRelease, IocStart, IocSubmit, IocWait,
};
use virtio_cuda_tests::random::Random;

use crate::counts::{Counts, OPS, Op};
use crate::memory::{Playground, SLOT, Source, result, wild};
use crate::withheld::Withheld;

/// Number of threads of an attacker.
const THREADS: u64 = 4;
/// Maximum number of device files that an attacker has open. Each of them can become a session.
const FILES: usize = 4;
/// Number of regions that an attacker's threads remember, so that they can map them.
const REGIONS: usize = 8;
/// Maximum number of children that an attacker has at a time.
const CHILDREN: i32 = 4;

/// State that an attacker's threads share. It may be outdated, for example because another thread
/// has just closed a file.
struct Shared {
    device: &'static CStr,
    counts: Counts,
    playground: Playground,
    /// File descriptors of the device, or -1.
    files: [AtomicI32; FILES],
    /// The userfaultfd with which threads withhold pages, so that other threads wait when they
    /// access them.
    withheld: Withheld,
    /// Offsets for mmap that contain a region's id, or 0.
    regions: [AtomicU64; REGIONS],
    threads: [AtomicI32; THREADS as usize],
    children: AtomicI32,
    /// Number of operations that the attacker's threads may still perform.
    left: AtomicI64,
    is_killed: bool,
}

impl Shared {
    /// Sends a signal to a thread. The signal's handler does nothing, but the signal interrupts a
    /// system call.
    fn signal(&self, thread: usize) -> Result<i64, c_int> {
        let thread = self.threads[thread].load(Ordering::Relaxed);
        // SAFETY: the call takes no pointers, and the process has a handler for this signal.
        result(unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, libc::SIGUSR1) })
    }

    fn end(&self) -> ! {
        // SAFETY: the calls take no pointers. Ending the process also ends other threads' system
        // calls, but no code runs after that.
        unsafe {
            if self.is_killed {
                libc::kill(libc::getpid(), libc::SIGKILL);
            }
            libc::_exit(0)
        }
    }
}

/// How long an attacker lives, and how it ends.
#[derive(Clone, Copy)]
pub struct Life {
    /// Number of operations that the attacker performs.
    pub operations: u64,
    /// Whether the attacker kills itself with SIGKILL at the end, possibly during operations of
    /// other threads. Otherwise, it exits.
    pub is_killed: bool,
}

/// If no thread finishes an operation in a period of this length, all threads may be waiting for
/// something that never happens. In that case, they get signals, which end some of the waits.
const STALLED: Duration = Duration::from_millis(20);
/// After this many periods without a finished operation, the attacker ends although its threads are
/// still waiting.
const STALLS: u32 = 25;

/// Performs operations until the end of the attacker's life. Doesn't return.
pub fn attack(device: &'static CStr, counts: Counts, seed: u64, life: Life) -> ! {
    extern "C" fn interrupted(_: c_int) {}
    // SAFETY: the handler does nothing, so it's safe in any thread. An all-zero sigaction is valid.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = interrupted as *const () as usize;
        libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut());
    }
    let shared = Arc::new(Shared {
        device,
        counts,
        playground: Playground::new(),
        withheld: Withheld::new(),
        files: std::array::from_fn(|_| AtomicI32::new(-1)),
        regions: Default::default(),
        threads: Default::default(),
        children: AtomicI32::new(0),
        left: AtomicI64::new(life.operations as i64),
        is_killed: life.is_killed,
    });
    let mut random = Random::new(seed);
    // Starting a thread maps a stack and a heap. The kernel may place them in a slot that another
    // thread has just unmapped, and that other threads will unmap again. Therefore, no thread
    // starts operations before all threads have their memory.
    let all_started = Arc::new(Barrier::new(THREADS as usize));
    for index in 0..THREADS as usize {
        let (shared, all_started, seed) = (shared.clone(), all_started.clone(), random.word());
        std::thread::spawn(move || {
            // SAFETY: the call takes no pointers.
            shared.threads[index].store(unsafe { libc::gettid() }, Ordering::Relaxed);
            let mut random = Random::new(seed);
            let source = Source::new(&mut random);
            let mut thread = Thread { shared, source, random, own: Box::new(Own([0; 8192])) };
            all_started.wait();
            while thread.shared.left.fetch_sub(1, Ordering::Relaxed) > 0 {
                thread.operate();
            }
            thread.shared.end()
        });
    }
    let (mut before, mut stalls) = (0, 0);
    while stalls < STALLS {
        std::thread::sleep(STALLED);
        let left = shared.left.load(Ordering::Relaxed);
        stalls = if left == before { stalls + 1 } else { 0 };
        before = left;
        if stalls > 0 {
            let _ = shared.signal(random.pick(&[0, 1, 2, 3]));
        }
    }
    shared.end()
}

/// Memory of a thread for arguments of ioctls. Unlike slots, it's always mapped.
#[repr(align(4096))]
struct Own([u8; 8192]);

struct Thread {
    shared: Arc<Shared>,
    source: Source,
    random: Random,
    own: Box<Own>,
}

fn errno(result: Result<i64, c_int>) -> c_int {
    result.err().unwrap_or(0)
}

impl Thread {
    fn operate(&mut self) {
        let sum = OPS.iter().map(|(.., weight)| weight).sum::<u64>();
        let mut ticket = self.random.within(0, sum - 1);
        for (op, _, weight) in OPS {
            if ticket < weight {
                let result = self.perform(op);
                return self.shared.counts.add(op, errno(result));
            }
            ticket -= weight;
        }
    }

    fn perform(&mut self, op: Op) -> Result<i64, c_int> {
        match op {
            Op::Open => self.open(),
            Op::Dup => self.dup(),
            Op::Close => self.close(),
            Op::Info => self.ioctl(uapi::IOC_INFO, &[0u8; size_of::<IocInfo>()]).map(|_| 0),
            Op::Query => self.query(),
            Op::Start => self.start(),
            Op::Alloc => self.alloc(),
            Op::Pin => self.pin(),
            Op::Release => self.release(),
            Op::Kick => self.ioctl(uapi::IOC_KICK, &[]).map(|_| 0),
            Op::Wait => self.wait(),
            Op::Submit => self.submit(),
            Op::Unknown => {
                let number = wild(&mut self.random);
                self.ioctl(number, &[0xff; 64]).map(|_| 0)
            }
            Op::Map if self.random.within(0, 1) == 0 => {
                self.shared.playground.map(&mut self.random)
            }
            Op::Map => {
                let region = self.random_region();
                self.map_device(region)
            }
            Op::Unmap => self.on_pages(|at, len, _| {
                // SAFETY: the range is in a slot. The program never accesses the memory of slots
                // itself.
                unsafe { libc::munmap(at as *mut _, len as usize).into() }
            }),
            Op::Move => self.move_pages(),
            Op::Advise => self.on_pages(|at, len, random| {
                // 102 and 103 (MADV_GUARD_INSTALL and MADV_GUARD_REMOVE) exist since Linux 6.13.
                let advice = random.pick(&[
                    libc::MADV_DONTNEED,
                    libc::MADV_DONTNEED,
                    libc::MADV_DOFORK,
                    libc::MADV_REMOVE,
                    libc::MADV_FREE,
                    libc::MADV_COLD,
                    libc::MADV_PAGEOUT,
                    libc::MADV_POPULATE_READ,
                    libc::MADV_POPULATE_WRITE,
                    libc::MADV_COLLAPSE,
                    libc::MADV_WIPEONFORK,
                    libc::MADV_MERGEABLE,
                    102,
                    103,
                ]);
                // SAFETY: the range is in a slot. The program never accesses the memory of slots
                // itself.
                unsafe { libc::madvise(at as *mut _, len as usize, advice).into() }
            }),
            Op::Protect => self.on_pages(|at, len, random| {
                let protection = random.pick(&[libc::PROT_NONE, libc::PROT_READ, 3, 3, 7]);
                // SAFETY: the range is in a slot. The program never accesses the memory of slots
                // itself.
                unsafe { libc::mprotect(at as *mut _, len as usize, protection).into() }
            }),
            Op::Withhold => {
                let at = self.shared.playground.page(&mut self.random);
                let len = self.shared.playground.len(&mut self.random).min(SLOT - at % SLOT);
                self.shared.withheld.change(&mut self.random, at, len)
            }
            Op::Fill => {
                let at = self.shared.playground.address(&mut self.random);
                self.source.fill(&mut self.random, at)
            }
            Op::Read => self.read(),
            Op::Poll => {
                let mut poll = libc::pollfd { fd: self.file(), events: -1, revents: 0 };
                // SAFETY: the pointer is to a local variable.
                result(unsafe { libc::poll(&mut poll, 1, 0) }.into())
            }
            Op::Signal => {
                let thread = self.random.pick(&[0, 1, 2, 3]);
                self.shared.signal(thread)
            }
            Op::Fork | Op::ChildIoctl | Op::ChildMap => self.fork(),
        }
    }

    // ---- Operations on files ----

    fn open(&mut self) -> Result<i64, c_int> {
        let index = self.random.within(0, FILES as u64 - 1) as usize;
        // SAFETY: the path is a C string.
        let file = result(unsafe { libc::open(self.shared.device.as_ptr(), libc::O_RDWR) }.into())?;
        let old = self.shared.files[index].swap(file as c_int, Ordering::Relaxed);
        // SAFETY: the call takes no pointers. No Rust object owns the descriptor.
        unsafe { libc::close(old) };
        if self.random.within(0, 3) > 0 {
            let result = self.start();
            self.shared.counts.add(Op::Start, errno(result));
        }
        Ok(0)
    }

    fn dup(&mut self) -> Result<i64, c_int> {
        // SAFETY: the call takes no pointers.
        let copy = result(unsafe { libc::dup(self.file()) }.into())?;
        let index = self.random.within(0, FILES as u64 - 1) as usize;
        let old = self.shared.files[index].swap(copy as c_int, Ordering::Relaxed);
        // SAFETY: the call takes no pointers. No Rust object owns the descriptor.
        result(unsafe { libc::close(old) }.into())
    }

    fn close(&mut self) -> Result<i64, c_int> {
        let index = self.random.within(0, FILES as u64 - 1) as usize;
        let file = self.shared.files[index].swap(-1, Ordering::Relaxed);
        // SAFETY: the call takes no pointers. No Rust object owns the descriptor.
        result(unsafe { libc::close(file) }.into())
    }

    /// Returns a file descriptor of the device. It's usually open, but may be -1.
    fn file(&mut self) -> c_int {
        let first = self.random.within(0, FILES as u64 - 1) as usize;
        let from_first = (first..FILES).chain(0..first);
        let mut files = from_first.map(|index| self.shared.files[index].load(Ordering::Relaxed));
        let any = self.random.within(0, 31) == 0;
        files.find(|file| any || *file >= 0).unwrap_or(-1)
    }

    fn read(&mut self) -> Result<i64, c_int> {
        let (file, at) = (self.file(), self.shared.playground.address(&mut self.random));
        // SAFETY: the kernel checks the address. It isn't in memory that this program uses
        // otherwise.
        result(unsafe {
            match self.random.within(0, 3) {
                0 => libc::read(file, at as *mut _, 64) as i64,
                1 => libc::write(file, at as *const _, 64) as i64,
                2 => libc::lseek(file, 8, libc::SEEK_SET),
                _ => libc::fsync(file).into(),
            }
        })
    }

    // ---- Operations with ioctls ----

    /// Performs an ioctl with a copy of `argument`, in which some bytes may be changed. The copy is
    /// at an address that may be invalid. If it is in the thread's own memory, returns its offset
    /// there.
    fn ioctl(&mut self, number: u64, argument: &[u8]) -> Result<Option<usize>, c_int> {
        let mut copy = [0; 64];
        let len = argument.len().min(64);
        let copy = &mut copy[..len];
        copy.copy_from_slice(&argument[..len]);
        if len >= 8 && self.random.within(0, 5) == 0 {
            let at = self.random.within(0, len as u64 / 4 - 1) as usize * 4;
            let word = wild(&mut self.random).to_le_bytes();
            let size = 8.min(len - at);
            copy[at..at + size].copy_from_slice(&word[..size]);
        }
        let (address, offset) = if self.random.within(0, 5) == 0 {
            let at = self.shared.playground.address(&mut self.random);
            let _ = self.source.put(copy, at);
            (at, None)
        } else {
            let offset = self.random.pick(&[0, 8, 4, 1, 4096 - 8, 4096 - 20]);
            self.own.0[offset..offset + len].copy_from_slice(copy);
            (self.own.0.as_ptr() as u64 + offset as u64, Some(offset))
        };
        let file = self.file();
        // SAFETY: the driver writes at most the structure's size to the address. The address is in
        // `own`, which has room for the structure, in a slot, or random. A random address almost
        // never refers to memory that this program uses.
        result(unsafe { libc::ioctl(file, number, address) }.into())?;
        Ok(offset)
    }

    fn structure<T: Plain>(&mut self, number: u64, structure: &T) -> Result<Option<usize>, c_int> {
        self.ioctl(number, structure.as_bytes())
    }

    fn word(&self, offset: usize) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|index| self.own.0[offset + index]))
    }

    fn remember(&mut self, region: u64) {
        let index = self.random.within(0, REGIONS as u64 - 1) as usize;
        self.shared.regions[index].store(region, Ordering::Relaxed);
    }

    fn random_region(&mut self) -> u64 {
        let index = self.random.within(0, REGIONS as u64 - 1) as usize;
        self.shared.regions[index].load(Ordering::Relaxed)
    }

    fn query(&mut self) -> Result<i64, c_int> {
        let answer = self.shared.playground.address(&mut self.random);
        let answer_len = self.random.pick(&[64, 512, 4096, 65536, 0]);
        self.structure(uapi::IOC_QUERY, &IocQuery { answer, answer_len, reserved: 0 }).map(|_| 0)
    }

    fn start(&mut self) -> Result<i64, c_int> {
        let ring_bytes = self.random.pick(&[0, 4096, 65536, 65536, 65536, 1 << 20]);
        let arena_bytes = self.random.pick(&[4096, 65536, 1 << 18]) * u64::from(ring_bytes > 0);
        let (env, env_len) = match self.random.within(0, 7) {
            0 => (self.shared.playground.address(&mut self.random), 16),
            _ => (0, 0),
        };
        let start = IocStart {
            env,
            env_len,
            ring_bytes,
            arena_bytes,
            mmap_offset: 0,
            session: 0,
            reserved: 0,
        };
        let offset = self.structure(uapi::IOC_START, &start)?;
        if let Some(offset) = offset {
            let region = self.word(offset + std::mem::offset_of!(IocStart, mmap_offset));
            self.remember(region);
            let _ = self.map_device(region);
        }
        Ok(0)
    }

    fn alloc(&mut self) -> Result<i64, c_int> {
        let vaddr = match self.random.within(0, 15) {
            0 => self.shared.playground.slot(&mut self.random),
            _ => self.shared.playground.window_slot(&mut self.random),
        };
        let len = match self.random.within(0, 15) {
            0 => wild(&mut self.random),
            1 => 1 << self.random.within(20, 30),
            _ => self.shared.playground.len(&mut self.random),
        };
        let alloc = IocAlloc { vaddr, len, mmap_offset: 0, region: 0, reserved: 0 };
        if let Some(offset) = self.structure(uapi::IOC_ALLOC, &alloc)? {
            let region = self.word(offset + std::mem::offset_of!(IocAlloc, mmap_offset));
            self.remember(region);
        }
        Ok(0)
    }

    fn pin(&mut self) -> Result<i64, c_int> {
        let vaddr = match self.random.within(0, 15) {
            0 => wild(&mut self.random) & !4095,
            _ => self.shared.playground.page(&mut self.random),
        };
        let len = match self.random.within(0, 15) {
            0 => wild(&mut self.random),
            1 => 16 * SLOT,
            _ => self.shared.playground.len(&mut self.random),
        };
        let pin = IocPin { vaddr, len, region: 0, reserved: 0 };
        if let Some(offset) = self.structure(uapi::IOC_PIN, &pin)? {
            let region = self.word(offset + std::mem::offset_of!(IocPin, region)) << 40;
            self.remember(region);
        }
        Ok(0)
    }

    fn release(&mut self) -> Result<i64, c_int> {
        let region = match self.random.within(0, 7) {
            0 => wild(&mut self.random) as u32,
            1 => self.random.within(0, 20) as u32,
            _ => (self.random_region() >> 40) as u32,
        };
        self.structure(uapi::IOC_RELEASE, &IocRelease { region, reserved: 0 }).map(|_| 0)
    }

    fn wait(&mut self) -> Result<i64, c_int> {
        let timeout_ms = self.random.pick(&[0, 1, 1, 2, 5, 20, u32::MAX]);
        let seen = self.random.pick(&[0, 0, 1, u32::MAX, 1 << 31]);
        self.structure(uapi::IOC_WAIT, &IocWait { seen, timeout_ms }).map(|_| 0)
    }

    fn submit(&mut self) -> Result<i64, c_int> {
        let cmd = self.shared.playground.address(&mut self.random);
        let reply = self.shared.playground.address(&mut self.random);
        let cmd_len = self.random.pick(&[32, 40, 64, 256, 4096, 65536, 1 << 20, 31, 0]);
        let reply_len = self.random.pick(&[16, 64, 256, 4096, 1 << 20, 15]);
        let header = Cmd {
            len: cmd_len,
            opcode: self.random.within(0, 700) as u32,
            flags: uapi::CMD_WAITED,
            thread: self.random.within(0, 3) as u32,
            ctx: self.random.within(0, 2),
            reply: 0,
            reply_len,
        };
        let _ = self.source.put(header.as_bytes(), cmd);
        self.structure(uapi::IOC_SUBMIT, &IocSubmit { cmd, reply, cmd_len, reply_len }).map(|_| 0)
    }

    // ---- Operations on memory ----

    /// Maps all or a part of a region of the device in a slot.
    fn map_device(&mut self, region: u64) -> Result<i64, c_int> {
        let (file, at) = (self.file(), self.shared.playground.slot(&mut self.random));
        let skip = self.random.pick(&[0, 0, 0, 4096, 8192, 1 << 20]);
        let offset =
            if self.random.within(0, 15) == 0 { wild(&mut self.random) } else { region + skip };
        let len = self.shared.playground.len(&mut self.random).min(SLOT);
        let flags = libc::MAP_FIXED
            | self.random.pick(&[libc::MAP_SHARED, libc::MAP_SHARED, libc::MAP_PRIVATE]);
        let protection = self.random.pick(&[1, 3, 3, 3, 7]);
        // SAFETY: MAP_FIXED replaces only memory in a slot, which the program never accesses
        // itself.
        result(unsafe {
            libc::mmap(at as *mut _, len as usize, protection, flags, file, offset as i64)
        } as i64)
    }

    /// Calls `call` with the address and the length of some pages in a slot.
    fn on_pages(&mut self, call: impl FnOnce(u64, u64, &mut Random) -> i64) -> Result<i64, c_int> {
        let at = self.shared.playground.page(&mut self.random);
        let len = self.shared.playground.len(&mut self.random);
        // Stay within the slot, because other memory of the program may follow the last slot.
        let len = len.min(SLOT - at % SLOT);
        result(call(at, len, &mut self.random))
    }

    fn move_pages(&mut self) -> Result<i64, c_int> {
        let from = self.shared.playground.page(&mut self.random);
        let to = self.shared.playground.slot(&mut self.random);
        let old = self.shared.playground.len(&mut self.random).min(SLOT - from % SLOT) as usize;
        let new = self.shared.playground.len(&mut self.random).min(SLOT) as usize;
        let new = self.random.pick(&[old, old, old, new]);
        let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
        let flags = flags | self.random.pick(&[0, 0, 0, libc::MREMAP_DONTUNMAP]);
        // SAFETY: both ranges are in slots. The program never accesses the memory of slots itself.
        result(unsafe { libc::mremap(from as *mut _, old, new, flags, to as *mut libc::c_void) }
            as i64)
    }

    // ---- Operations with child processes ----

    /// Starts a child process that uses the parent's files. The child may outlive its parent.
    fn fork(&mut self) -> Result<i64, c_int> {
        let children = &self.shared.children;
        // SAFETY: waitpid allows a null pointer for the status.
        while unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) } > 0 {
            children.fetch_sub(1, Ordering::Relaxed);
        }
        if children.load(Ordering::Relaxed) >= CHILDREN {
            return Err(libc::EAGAIN);
        }
        // SAFETY: the child only makes system calls and uses memory that exists already. Therefore,
        // it needs no locks that other threads of the parent may hold.
        match unsafe { libc::fork() } {
            -1 => result(-1),
            0 => self.be_a_child(),
            _ => {
                self.shared.children.fetch_add(1, Ordering::Relaxed);
                Ok(0)
            }
        }
    }

    fn be_a_child(&mut self) -> ! {
        for _ in 0..4 {
            let number = self.random.pick(&[
                uapi::IOC_INFO,
                uapi::IOC_START,
                uapi::IOC_ALLOC,
                uapi::IOC_PIN,
                uapi::IOC_KICK,
                uapi::IOC_WAIT,
                uapi::IOC_SUBMIT,
                uapi::IOC_QUERY,
            ]);
            let done = self.ioctl(number, &[0; 64]).map(|_| 0);
            self.shared.counts.add(Op::ChildIoctl, errno(done));
            let region = self.random_region();
            if let Err(error) = self.map_of_parent(region) {
                self.shared.counts.add(Op::ChildMap, error);
            } else {
                self.shared.counts.add(Op::ChildMap, 0);
            }
            let at = self.shared.playground.address(&mut self.random);
            let _ = self.source.fill(&mut self.random, at);
        }
        let millis = self.random.within(0, 300) as u32;
        // SAFETY: the calls take no pointers.
        unsafe {
            libc::usleep(millis * 1000);
            libc::_exit(0)
        }
    }

    fn map_of_parent(&mut self, region: u64) -> Result<i64, c_int> {
        let (file, at) = (self.file(), self.shared.playground.slot(&mut self.random));
        let flags = libc::MAP_FIXED | libc::MAP_SHARED;
        // SAFETY: MAP_FIXED replaces only memory in a slot, which the program never accesses
        // itself.
        result(unsafe { libc::mmap(at as *mut _, 4096, 1, flags, file, region as i64) } as i64)
    }
}
