//! Replies, copied out of the arena.

use super::arena::{Part, SLOT};
use crate::error::{CuError, CuResult};
use protocol::plain::Plain;
use protocol::uapi::Reply;

const HEAD: usize = size_of::<Reply>();
const SHORT: usize = SLOT - HEAD;

/// A call whose reply hasn't been received yet.
#[must_use = "its part of the arena must be given back"]
pub enum Pending {
    /// The reply will be written to this part of the arena. The string is the call's name.
    InArena(Part, &'static str),
    /// The call was sent as a descriptor chain, which has returned this reply. The string is the
    /// call's name.
    Answered(Box<Replied>, &'static str),
}

/// The bytes of a reply after its header.
#[allow(clippy::large_enum_variant)] // so that short replies need no allocation
pub enum Bytes {
    Short([u8; SHORT], usize),
    Long(Vec<u8>),
}

impl Bytes {
    /// Returns the bytes after the reply's header.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Bytes::Short(bytes, len) => &bytes[..*len],
            Bytes::Long(bytes) => bytes,
        }
    }
}

/// A reply: its header, and the bytes after it.
pub struct Replied {
    head: Reply,
    bytes: Bytes,
}

impl Replied {
    pub unsafe fn read(at: *const u8, room: usize) -> Self {
        // SAFETY: the caller promises that there is room for a header, and every bit pattern is a
        // valid header.
        let head = unsafe { at.cast::<Reply>().read_volatile() };
        let len = (head.len as usize).min(room - HEAD);
        let bytes = if len <= SHORT {
            let mut bytes = [0; SHORT];
            // SAFETY: the caller promises that `len` bytes follow the header, and they fit in
            // `bytes`.
            unsafe { std::ptr::copy_nonoverlapping(at.add(HEAD), bytes.as_mut_ptr(), len) };
            Bytes::Short(bytes, len)
        } else {
            let mut bytes = vec![0; len];
            // SAFETY: the caller promises that `len` bytes follow the header, and they fit in
            // `bytes`.
            unsafe { std::ptr::copy_nonoverlapping(at.add(HEAD), bytes.as_mut_ptr(), len) };
            Bytes::Long(bytes)
        };
        Self { head, bytes }
    }

    /// Parses a reply that was received through a descriptor chain.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let head = Reply::from_bytes(bytes)
            .unwrap_or(Reply { result: CuError::UNKNOWN.0, ..Reply::zeroed() });
        let rest = bytes.get(HEAD..).unwrap_or_default();
        let len = (head.len as usize).min(rest.len());
        Self { head, bytes: Bytes::Long(rest[..len].to_vec()) }
    }

    /// Returns the header.
    pub fn head(&self) -> &Reply {
        &self.head
    }

    /// Returns the bytes after the header, even if the call failed.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.as_bytes()
    }

    /// Returns the call's result.
    pub fn result(&self) -> CuResult {
        match self.head.result {
            0 => Ok(()),
            code => Err(CuError(code)),
        }
    }

    /// Returns the bytes after the header, if the call succeeded.
    pub fn into_result(self) -> CuResult<Bytes> {
        self.result().map(|()| self.bytes)
    }
}
