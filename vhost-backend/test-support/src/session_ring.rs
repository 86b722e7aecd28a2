//! A session's ring, as the guest process uses it.

use std::os::fd::AsRawFd;
use std::sync::atomic::Ordering;

use protocol::codec::{Call, Writer};
use protocol::plain::Plain;
use protocol::ring::{Full, GuestRing, Shared};
use protocol::uapi::{self, Cmd, RegionAttach, Reply};

use crate::guest::{BASE, Guest};
use crate::programs::wait_for;
use crate::requests::{REGION, RING, ring_request};

impl Guest {
    /// Attaches a ring to a session. The ring is at `offset` in guest memory. Its pages are
    /// attached in reverse order, so that they aren't contiguous.
    pub fn attach_ring(&mut self, session: u32, offset: usize) -> SessionRing {
        let pages = REGION / 4096;
        self.write(offset, &[0; REGION]);
        let page = |page| (BASE + (offset + page * 4096) as u64, 4096);
        let segments: Vec<_> = (0..pages).rev().map(page).collect();
        let request = RegionAttach { nr_segments: pages as u32, ..ring_request(session) };
        assert_eq!(self.attach(request, &segments), uapi::OK);
        SessionRing::map(self, session, offset, pages, RING)
    }
}

/// A session's ring, as the guest process uses it.
pub struct SessionRing {
    pub session: u32,
    pub ring: GuestRing,
    /// The arena, which is contiguous because `map` restores the order of the pages.
    arena: *mut u8,
}

impl SessionRing {
    /// Maps the pages in the ring's order, as the guest driver does for its process.
    fn map(guest: &Guest, session: u32, offset: usize, pages: usize, ring_bytes: usize) -> Self {
        // SAFETY: the fixed mappings replace only pages of the new reservation.
        let base = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let (none, len) = (std::ptr::null_mut(), pages * 4096);
            let base = libc::mmap(none, len, libc::PROT_NONE, flags, -1, 0);
            assert_ne!(base, libc::MAP_FAILED);
            for page in 0..pages {
                let at = base.byte_add(page * 4096);
                let from = offset + (pages - 1 - page) * 4096;
                let (flags, fd) = (libc::MAP_SHARED | libc::MAP_FIXED, guest.memory.as_raw_fd());
                let prot = libc::PROT_READ | libc::PROT_WRITE;
                assert_eq!(libc::mmap(at, 4096, prot, flags, fd, from as i64), at);
            }
            base.cast::<u8>()
        };
        // SAFETY: the pages were just mapped, and are never unmapped.
        let shared = unsafe { Shared::new(base, ring_bytes).unwrap() };
        Self { session, ring: GuestRing::new(shared), arena: base.wrapping_add(4096 + ring_bytes) }
    }

    /// Pushes a command. Returns true if the worker needs a doorbell.
    pub fn push(&mut self, opcode: u32, flags: u32, reply: u32, reply_len: u32) -> bool {
        let len = size_of::<Cmd>() as u32;
        let cmd = Cmd { len, opcode, flags, reply, reply_len, ..Cmd::zeroed() };
        // SAFETY: the slot is in the arena, because its offset is less than 0x8000, and it is
        // aligned, because callers pass aligned offsets.
        unsafe { self.arena.wrapping_add(reply as usize % 0x8000).cast::<u32>().write_volatile(0) };
        self.ring.push(&[cmd.as_bytes()]).unwrap()
    }

    /// Pushes a call from the API table. A waited call's reply goes to offset 64 in the arena.
    /// Returns true if the worker needs a doorbell.
    pub fn push_call<'a, C: Call<'a>>(&mut self, ctx: u64, call: &C) -> Result<bool, Full> {
        let mut writer = Writer::new();
        call.encode(&mut writer);
        let args = writer.as_bytes();
        let cmd = Cmd {
            len: (size_of::<Cmd>() + args.len()) as u32,
            opcode: C::OPCODE,
            flags: if C::WAITED { uapi::CMD_WAITED } else { 0 },
            thread: 1,
            ctx,
            reply: 64,
            reply_len: 64,
        };
        // SAFETY: offset 64 is in the arena, which is mapped, and is aligned.
        unsafe { self.arena.wrapping_add(64).cast::<u32>().write_volatile(0) };
        self.ring.push(&[cmd.as_bytes(), args])
    }

    /// Sends a call once the ring has room, and asserts that it succeeds. Returns the first word
    /// after the reply's header, or 0 for a posted call.
    pub fn send<'a, C: Call<'a>>(&mut self, guest: &mut Guest, ctx: u64, call: &C) -> u64 {
        let mut doorbell = Err(Full);
        wait_for("room in the ring", || {
            doorbell = self.push_call(ctx, call);
            doorbell.is_ok()
        });
        if doorbell.unwrap() {
            assert_eq!(guest.doorbell(self.session), uapi::OK);
        }
        if !C::WAITED {
            return 0;
        }
        let mut reply = None;
        wait_for(C::NAME, || {
            reply = self.reply(64);
            reply.is_some()
        });
        let Reply { result, posted_error, .. } = reply.unwrap();
        assert_eq!((result, posted_error), (0, 0), "{}", C::NAME);
        // SAFETY: the reply's 64 bytes contain a word after the header. The worker writes this word
        // before the state, so it no longer changes.
        unsafe { self.arena.wrapping_add(64 + size_of::<Reply>()).cast::<u64>().read_volatile() }
    }

    pub fn reply(&self, offset: usize) -> Option<Reply> {
        let slot = self.arena.wrapping_add(offset);
        // SAFETY: the slot is in the arena, which is mapped. The state is read before the other
        // fields, so they are complete.
        unsafe {
            let state = (*slot.cast::<std::sync::atomic::AtomicU32>()).load(Ordering::Acquire);
            (state == 1).then(|| slot.cast::<Reply>().read_volatile())
        }
    }

    /// Sends a waited command and returns its reply.
    pub fn call(&mut self, guest: &mut Guest, opcode: u32) -> Reply {
        if self.push(opcode, uapi::CMD_WAITED, 64, 64) {
            assert_eq!(guest.doorbell(self.session), uapi::OK);
        }
        let mut reply = None;
        wait_for("a reply", || {
            reply = self.reply(64);
            reply.is_some()
        });
        reply.unwrap()
    }
}
