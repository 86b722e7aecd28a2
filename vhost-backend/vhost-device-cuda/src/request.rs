//! Parses and validates requests on the control and command queues from a copy of their bytes. All
//! values in a parsed request are in range.

use protocol::plain::Plain;
use protocol::uapi::{
    self, Cmd, Hdr, Hello, Query, RegionAttach, RegionDetach, Segment, SessionCreate,
};

use host_ipc::messages::{Limits, PROGRAM, USER};
use protocol::windows::{PAGE_BYTES, PINNED, USER_END};
use protocol::{PROGRAM_VARIABLE, USER_VARIABLE};

/// A status code from the uAPI. When it's used as an error, its value is never OK.
pub type Status = u32;

/// A request on the control queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Control {
    /// Announces a driver that has just been initialized.
    Hello {
        /// The driver's epoch.
        epoch: u64,
    },
    /// Creates a session.
    Create {
        /// ID of the new session.
        session: u32,
        /// ID of the guest process.
        pid: u32,
        /// Environment variables of the guest process.
        env: Vec<(String, String)>,
    },
    /// Ends a session.
    Destroy {
        /// ID of the session.
        session: u32,
    },
    /// Attaches a region of guest memory.
    Attach {
        /// ID of the session that gets the region.
        session: u32,
        /// The region to attach.
        region: Attach,
    },
    /// Detaches a region.
    Detach {
        /// ID of the session that has the region.
        session: u32,
        /// ID of the region.
        region: u32,
    },
    /// Asks for facts about the VM's GPUs.
    Query,
}

/// A region to attach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attach {
    /// ID of the region.
    pub id: u32,
    /// Kind of region, one of the uAPI's `REGION_` constants.
    pub kind: u32,
    /// Address in the guest process.
    pub vaddr: u64,
    /// Length, which is the sum of the segment lengths.
    pub len: u64,
    /// Size of the ring, if the kind is RING.
    pub ring_bytes: u32,
    /// Segments, which are page-aligned and not empty, but not yet checked against guest memory.
    pub segments: Vec<Segment>,
}

/// A request on the command queue.
#[derive(Debug, PartialEq, Eq)]
pub enum Submitted<'a> {
    /// Asks the device to wake a session's worker.
    Doorbell {
        /// ID of the session.
        session: u32,
    },
    /// Submits a command through the queue instead of the ring.
    Submit {
        /// ID of the session.
        session: u32,
        /// The command's bytes.
        command: &'a [u8],
        /// Room for the reply, including its header, in bytes.
        room: u32,
    },
}

/// Returns the maximum length of a request on the control queue.
pub fn max_control(limits: &Limits) -> usize {
    64 + size_of::<Segment>() * limits.max_segments as usize + uapi::ENV_MAX
}

/// Returns the maximum length of a request on the command queue.
pub fn max_command(limits: &Limits) -> usize {
    size_of::<Hdr>() + limits.max_plain as usize
}

impl Control {
    /// Returns the memory that the request occupies while it waits, in bytes.
    pub(super) fn weight(&self) -> usize {
        let more = match self {
            Self::Attach { region, .. } => region.segments.len() * size_of::<Segment>(),
            Self::Create { env, .. } => env
                .iter()
                .map(|(name, value)| size_of::<(String, String)>() + name.len() + value.len())
                .sum(),
            Self::Hello { .. } | Self::Destroy { .. } | Self::Detach { .. } | Self::Query => 0,
        };
        size_of::<Self>() + more
    }

    /// Parses a request.
    pub fn parse(bytes: &[u8], limits: &Limits) -> Result<Self, Status> {
        let hdr = take::<Hdr>(bytes)?;
        let of_no_session = matches!(hdr.kind, uapi::CTRL_HELLO | uapi::CTRL_QUERY);
        if (hdr.session == 0) != of_no_session {
            return Err(uapi::ERR_INVALID);
        }
        let session = hdr.session;
        match hdr.kind {
            uapi::CTRL_HELLO => {
                let hello = whole::<Hello>(bytes)?;
                if hello.reserved != 0 || hello.version_major != uapi::VERSION_MAJOR {
                    return Err(uapi::ERR_INVALID);
                }
                Ok(Self::Hello { epoch: hello.epoch })
            }
            uapi::CTRL_SESSION_CREATE => {
                let create = take::<SessionCreate>(bytes)?;
                let env = &bytes[size_of::<SessionCreate>()..];
                if env.len() != create.env_len as usize || env.len() > uapi::ENV_MAX {
                    return Err(uapi::ERR_INVALID);
                }
                Ok(Self::Create { session, pid: create.pid, env: environment(env)? })
            }
            uapi::CTRL_SESSION_DESTROY => {
                whole::<Hdr>(bytes)?;
                Ok(Self::Destroy { session })
            }
            uapi::CTRL_REGION_ATTACH => {
                Ok(Self::Attach { session, region: Attach::parse(bytes, limits)? })
            }
            uapi::CTRL_REGION_DETACH => {
                let detach = whole::<RegionDetach>(bytes)?;
                if detach.region == 0 || detach.reserved != 0 {
                    return Err(uapi::ERR_INVALID);
                }
                Ok(Self::Detach { session, region: detach.region })
            }
            uapi::CTRL_QUERY => {
                if whole::<Query>(bytes)?.reserved != 0 {
                    return Err(uapi::ERR_INVALID);
                }
                Ok(Self::Query)
            }
            _ => Err(uapi::ERR_INVALID),
        }
    }

    /// Returns the ID of the session that the request is for, if any.
    pub fn session(&self) -> Option<u32> {
        match self {
            Self::Hello { .. } | Self::Query => None,
            Self::Create { session, .. }
            | Self::Destroy { session }
            | Self::Attach { session, .. }
            | Self::Detach { session, .. } => Some(*session),
        }
    }
}

impl Attach {
    fn parse(bytes: &[u8], limits: &Limits) -> Result<Self, Status> {
        let attach = take::<RegionAttach>(bytes)?;
        let list = &bytes[size_of::<RegionAttach>()..];
        let count = attach.nr_segments as usize;
        if Some(list.len()) != count.checked_mul(size_of::<Segment>()) {
            return Err(uapi::ERR_INVALID);
        }
        if attach.nr_segments > limits.max_segments || attach.len > limits.pinned_max {
            return Err(uapi::ERR_LIMIT);
        }
        let segments: Vec<Segment> =
            list.chunks_exact(size_of::<Segment>()).filter_map(Segment::from_bytes).collect();
        let mut sum = 0u64;
        for segment in &segments {
            let aligned =
                segment.addr.is_multiple_of(PAGE_BYTES) && segment.len.is_multiple_of(PAGE_BYTES);
            let end = segment.addr.checked_add(segment.len);
            if !aligned || segment.len == 0 || end.is_none() {
                return Err(uapi::ERR_INVALID);
            }
            sum = sum.checked_add(segment.len).ok_or(uapi::ERR_INVALID)?;
        }
        let region = Self {
            id: attach.region,
            kind: attach.kind,
            vaddr: attach.vaddr,
            len: attach.len,
            ring_bytes: attach.ring_bytes,
            segments,
        };
        if region.id == 0 || sum == 0 || sum != region.len || !region.place_is_good() {
            return Err(uapi::ERR_INVALID);
        }
        Ok(region)
    }

    /// Returns true if the guest address and the ring size are valid for the kind of region.
    fn place_is_good(&self) -> bool {
        let Some(end) = self.vaddr.checked_add(self.len) else { return false };
        let aligned = self.vaddr.is_multiple_of(PAGE_BYTES);
        match self.kind {
            uapi::REGION_RING => {
                let ring = self.ring_bytes as usize;
                self.vaddr == 0
                    && ring.is_power_of_two()
                    && (uapi::RING_MIN_BYTES..=uapi::RING_MAX_BYTES).contains(&ring)
                    && (uapi::RING_HEADER_BYTES + ring) as u64 <= self.len
            }
            uapi::REGION_PINNED => {
                aligned && self.ring_bytes == 0 && PINNED.contains(&self.vaddr) && end <= PINNED.end
            }
            uapi::REGION_USER => {
                aligned && self.ring_bytes == 0 && self.vaddr != 0 && end <= USER_END
            }
            _ => false,
        }
    }
}

impl<'a> Submitted<'a> {
    /// Parses a request. `room` is the chain's room for the response, including its header.
    pub fn parse(bytes: &'a [u8], room: usize, limits: &Limits) -> Result<Self, Status> {
        let hdr = take::<Hdr>(bytes)?;
        let command = &bytes[size_of::<Hdr>()..];
        let session = hdr.session;
        if session == 0 {
            return Err(uapi::ERR_INVALID);
        }
        match hdr.kind {
            uapi::CMD_DOORBELL if command.is_empty() => Ok(Self::Doorbell { session }),
            uapi::CMD_SUBMIT => {
                let cmd = take::<Cmd>(command)?;
                let room = room.saturating_sub(size_of::<uapi::Resp>());
                let reply_len = cmd.reply_len as usize;
                if cmd.len as usize != command.len()
                    || !command.len().is_multiple_of(8)
                    || command.len() > limits.max_plain as usize
                    || cmd.reply != 0
                    || reply_len < size_of::<uapi::Reply>()
                    || reply_len > room
                {
                    return Err(uapi::ERR_INVALID);
                }
                Ok(Self::Submit { session, command, room: cmd.reply_len })
            }
            _ => Err(uapi::ERR_INVALID),
        }
    }
}

/// Reads a struct from the start of a request.
fn take<T: Plain>(bytes: &[u8]) -> Result<T, Status> {
    T::from_bytes(bytes).ok_or(uapi::ERR_INVALID)
}

/// Reads a request that must consist of exactly this struct.
fn whole<T: Plain>(bytes: &[u8]) -> Result<T, Status> {
    if bytes.len() == size_of::<T>() { take(bytes) } else { Err(uapi::ERR_INVALID) }
}

/// Parses `NAME=value\0` strings. The entries for the program's name and its user get the names
/// [`PROGRAM`] and [`USER`], which the broker expects.
fn environment(bytes: &[u8]) -> Result<Vec<(String, String)>, Status> {
    let Some(entries) = bytes.strip_suffix(b"\0") else {
        return if bytes.is_empty() { Ok(Vec::new()) } else { Err(uapi::ERR_INVALID) };
    };
    let mut env = Vec::new();
    for entry in entries.split(|byte| *byte == 0) {
        let text = std::str::from_utf8(entry).map_err(|_| uapi::ERR_INVALID)?;
        match text.split_once('=') {
            Some((PROGRAM_VARIABLE, value)) => env.push((PROGRAM.into(), value.into())),
            Some((USER_VARIABLE, value)) => env.push((USER.into(), value.into())),
            Some((name, value)) if !name.is_empty() => env.push((name.into(), value.into())),
            _ => return Err(uapi::ERR_INVALID),
        }
    }
    Ok(env)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LIMITS: Limits = Limits {
        max_sessions: 4,
        max_regions: 8,
        max_segments: 16,
        pinned_max: 1 << 30,
        max_plain: 4096,
        max_connections: 2,
    };

    fn attach(region: RegionAttach, segments: &[(u64, u64)]) -> Vec<u8> {
        let mut bytes = region.as_bytes().to_vec();
        for (addr, len) in segments {
            bytes.extend_from_slice(Segment { addr: *addr, len: *len }.as_bytes());
        }
        bytes
    }

    fn ring() -> RegionAttach {
        RegionAttach {
            hdr: Hdr { kind: uapi::CTRL_REGION_ATTACH, session: 1 },
            region: 1,
            kind: uapi::REGION_RING,
            vaddr: 0,
            len: 0x4000,
            ring_bytes: 0x1000,
            nr_segments: 2,
        }
    }

    const TWO: [(u64, u64); 2] = [(0x1000, 0x1000), (0x8000, 0x3000)];

    #[test]
    fn a_valid_ring_is_accepted() {
        let Ok(Control::Attach { session: 1, region }) =
            Control::parse(&attach(ring(), &TWO), &LIMITS)
        else {
            panic!("a valid ring was refused")
        };
        assert_eq!((region.len, region.segments.len()), (0x4000, 2));
    }

    #[test]
    fn regions_that_break_a_rule_are_refused() {
        let invalid = uapi::ERR_INVALID;
        let pinned = RegionAttach {
            kind: uapi::REGION_PINNED,
            vaddr: PINNED.start,
            ring_bytes: 0,
            ..ring()
        };
        let cases = [
            (RegionAttach { region: 0, ..ring() }, TWO, invalid),
            (RegionAttach { kind: 9, ..ring() }, TWO, invalid),
            (RegionAttach { len: 0x5000, ..ring() }, TWO, invalid),
            (RegionAttach { ring_bytes: 0x1800, ..ring() }, TWO, invalid),
            (RegionAttach { ring_bytes: 0x8000, ..ring() }, TWO, invalid),
            (RegionAttach { vaddr: 0x1000, ..ring() }, TWO, invalid),
            (RegionAttach { nr_segments: 3, ..ring() }, TWO, invalid),
            (RegionAttach { nr_segments: u32::MAX, ..ring() }, TWO, invalid),
            (RegionAttach { len: 1 << 31, ..ring() }, TWO, uapi::ERR_LIMIT),
            (ring(), [(0x1001, 0x1000), (0x8000, 0x3000)], invalid),
            (ring(), [(0x1000, 0), (0x8000, 0x4000)], invalid),
            (ring(), [(u64::MAX - 0xfff, 0x1000), (0x8000, 0x3000)], invalid),
            (RegionAttach { vaddr: 0x1000, ..pinned }, TWO, invalid),
            (RegionAttach { vaddr: PINNED.end - 0x1000, ..pinned }, TWO, invalid),
            (RegionAttach { kind: uapi::REGION_USER, vaddr: 0, ..pinned }, TWO, invalid),
            (RegionAttach { kind: uapi::REGION_USER, vaddr: !0xfff, ..pinned }, TWO, invalid),
        ];
        for (region, segments, status) in cases {
            let parsed = Control::parse(&attach(region, &segments), &LIMITS);
            assert_eq!(parsed, Err(status), "{region:x?} {segments:x?}");
        }
        assert!(Control::parse(&attach(pinned, &TWO), &LIMITS).is_ok());
    }

    #[test]
    fn environment_entries_need_a_name_and_a_terminating_zero() {
        let create = |env: &[u8]| {
            let create = SessionCreate {
                hdr: Hdr { kind: uapi::CTRL_SESSION_CREATE, session: 3 },
                pid: 7,
                env_len: env.len() as u32,
            };
            Control::parse(&[create.as_bytes(), env].concat(), &LIMITS)
        };
        assert_eq!(create(b""), Ok(Control::Create { session: 3, pid: 7, env: vec![] }));
        let env = vec![("A".into(), "b=c".into()), ("D".into(), String::new())];
        assert_eq!(create(b"A=b=c\0D=\0"), Ok(Control::Create { session: 3, pid: 7, env }));
        let env = vec![(PROGRAM.into(), "a b".into())];
        let program = format!("{PROGRAM_VARIABLE}=a b\0");
        let created = create(program.as_bytes());
        assert_eq!(created, Ok(Control::Create { session: 3, pid: 7, env }));
        for bad in [&b"A=b"[..], b"A\0", b"=b\0", b"\0", b"A=b\0\0", b"A=\xff\0"] {
            assert_eq!(create(bad), Err(uapi::ERR_INVALID), "{bad:?}");
        }
        assert_eq!(create(&[b'A'; 5000]), Err(uapi::ERR_INVALID));
    }

    #[test]
    fn a_command_and_its_reply_must_fit_the_chain() {
        let submit = |cmd: Cmd, extra: usize, room| {
            let hdr = Hdr { kind: uapi::CMD_SUBMIT, session: 1 };
            let bytes = [hdr.as_bytes(), cmd.as_bytes(), &vec![0; extra]].concat();
            Submitted::parse(&bytes, room, &LIMITS).map(|_| ())
        };
        let cmd = Cmd { len: 40, reply_len: 16, ..Cmd::zeroed() };
        assert_eq!(submit(cmd, 8, 24), Ok(()));
        assert!(submit(cmd, 8, 23).is_err());
        assert!(submit(cmd, 16, 24).is_err());
        assert!(submit(Cmd { reply: 8, ..cmd }, 8, 24).is_err());
        assert!(submit(Cmd { reply_len: 8, ..cmd }, 8, 24).is_err());
        assert!(submit(Cmd { len: 36, ..cmd }, 4, 24).is_err());
        assert!(submit(Cmd { len: 32 + 8192, ..cmd }, 8192, 24).is_err());
    }

    proptest! {
        #[test]
        fn random_bytes_are_refused(
            kind in 0u32..8, session in 0u32..3, rest in prop::collection::vec(any::<u8>(), 0..400)
        ) {
            let bytes = [Hdr { kind, session }.as_bytes(), &rest].concat();
            // Random bytes can form a valid request only if that kind of request consists of just a
            // header.
            match Control::parse(&bytes, &LIMITS) {
                Ok(parsed) => {
                    prop_assert_eq!(parsed, Control::Destroy { session });
                    prop_assert!(rest.is_empty());
                }
                Err(status) => {
                    prop_assert!([uapi::ERR_INVALID, uapi::ERR_LIMIT].contains(&status));
                }
            }
            match Submitted::parse(&bytes, rest.len(), &LIMITS) {
                Ok(parsed) => {
                    prop_assert_eq!(parsed, Submitted::Doorbell { session });
                    prop_assert!(rest.is_empty());
                }
                Err(status) => prop_assert_eq!(status, uapi::ERR_INVALID),
            }
            prop_assert_eq!(Control::parse(&rest, &LIMITS), Err(uapi::ERR_INVALID));
            let submitted = Submitted::parse(&rest, rest.len(), &LIMITS);
            prop_assert_eq!(submitted, Err(uapi::ERR_INVALID));
        }
    }
}
