//! Messages from the guest to the host over a serial line.
//!
//! A frame consists of the letters `vf`, the kind (1 byte), a zero byte, the payload length (le32),
//! and the payload. The line carries only frames, so if a frame doesn't begin with `vf`, bytes were
//! lost. In that case, decoding fails; the decoder doesn't try to resynchronize.

/// Maximum payload length of a frame, in bytes.
pub const MAX_PAYLOAD: usize = 64 * 1024;
const MAGIC: [u8; 2] = *b"vf";
const HEADER: usize = 8;

/// One message from the guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// The guest is up. Contains the milliseconds since it booted.
    Up(u32),
    /// Bytes that the command wrote to standard output.
    Stdout(Vec<u8>),
    /// Bytes that the command wrote to standard error.
    Stderr(Vec<u8>),
    /// A file follows, in [`Frame::FileData`] frames. Contains the file's index in `Job::fetch`.
    FileStart(u32),
    /// The next bytes of the current file.
    FileData(Vec<u8>),
    /// The current file is complete.
    FileEnd,
    /// The command exited with this code. This is the last frame.
    Exit(i32),
    /// The guest couldn't run the command, for this reason. This is the last frame.
    Failed(String),
}

/// The received bytes aren't a valid frame.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The bytes don't begin with `vf`.
    #[error("a frame begins with {0:02x?} instead of \"vf\"")]
    Magic([u8; 2]),
    /// The kind is unknown, or the length is wrong for the kind.
    #[error("invalid frame of kind {0} with {1} bytes")]
    Kind(u8, usize),
}

impl Frame {
    /// Encodes the frame.
    pub fn encode(&self) -> Vec<u8> {
        let (kind, payload): (u8, &[u8]) = match self {
            Frame::Up(ms) => (1, &ms.to_le_bytes()),
            Frame::Stdout(bytes) => (2, bytes),
            Frame::Stderr(bytes) => (3, bytes),
            Frame::FileStart(index) => (4, &index.to_le_bytes()),
            Frame::FileData(bytes) => (5, bytes),
            Frame::FileEnd => (6, &[]),
            Frame::Exit(code) => (7, &code.to_le_bytes()),
            Frame::Failed(why) => (8, &why.as_bytes()[..why.len().min(MAX_PAYLOAD)]),
        };
        assert!(payload.len() <= MAX_PAYLOAD, "callers split their data");
        let mut out = Vec::with_capacity(HEADER + payload.len());
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&[kind, 0]);
        out.extend_from_slice(&(payload.len() as u32).to_le_bytes());
        out.extend_from_slice(payload);
        out
    }

    fn decode(kind: u8, payload: &[u8]) -> Result<Frame, FrameError> {
        let word =
            || <[u8; 4]>::try_from(payload).map_err(|_| FrameError::Kind(kind, payload.len()));
        Ok(match kind {
            1 => Frame::Up(u32::from_le_bytes(word()?)),
            2 => Frame::Stdout(payload.to_vec()),
            3 => Frame::Stderr(payload.to_vec()),
            4 => Frame::FileStart(u32::from_le_bytes(word()?)),
            5 => Frame::FileData(payload.to_vec()),
            6 if payload.is_empty() => Frame::FileEnd,
            7 => Frame::Exit(i32::from_le_bytes(word()?)),
            8 => Frame::Failed(String::from_utf8_lossy(payload).into_owned()),
            _ => return Err(FrameError::Kind(kind, payload.len())),
        })
    }
}

/// Decodes frames from a stream of bytes.
#[derive(Debug, Default)]
pub struct Decoder {
    bytes: Vec<u8>,
    start: usize,
}

impl Decoder {
    /// Adds received bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.start > 0 {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the next frame if it's complete.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, FrameError> {
        let rest = &self.bytes[self.start..];
        if rest.len() < HEADER {
            return Ok(None);
        }
        if rest[..2] != MAGIC {
            return Err(FrameError::Magic([rest[0], rest[1]]));
        }
        let (kind, zero) = (rest[2], rest[3]);
        let len = u32::from_le_bytes([rest[4], rest[5], rest[6], rest[7]]) as usize;
        // Limit the length, so that a guest can't make the host buffer gigabytes.
        if zero != 0 || len > MAX_PAYLOAD {
            return Err(FrameError::Kind(kind, len));
        }
        if rest.len() < HEADER + len {
            return Ok(None);
        }
        let frame = Frame::decode(kind, &rest[HEADER..HEADER + len])?;
        self.start += HEADER + len;
        Ok(Some(frame))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Frame> {
        vec![
            Frame::Up(1234),
            Frame::Stdout(b"hello\n".to_vec()),
            Frame::Stderr(vec![0xff; MAX_PAYLOAD]),
            Frame::FileStart(3),
            Frame::FileData(vec![]),
            Frame::FileEnd,
            Frame::Exit(-1),
            Frame::Failed("no such module".into()),
        ]
    }

    #[test]
    fn test_frames_decode_however_the_bytes_are_split() {
        let bytes: Vec<u8> = all().iter().flat_map(Frame::encode).collect();
        for step in [1, 7, 8, 4096, bytes.len()] {
            let mut decoder = Decoder::default();
            let mut got = Vec::new();
            for piece in bytes.chunks(step) {
                decoder.push(piece);
                while let Some(frame) = decoder.next_frame().unwrap() {
                    got.push(frame);
                }
            }
            assert_eq!(got, all());
        }
    }

    #[test]
    fn test_malformed_frames_are_errors() {
        for (bytes, error) in [
            (&b"[    0.1] boot"[..], FrameError::Magic(*b"[ ")),
            (b"vf\x02\0\xff\xff\xff\x7f", FrameError::Kind(2, 0x7fff_ffff)),
            (b"vf\x09\0\0\0\0\0", FrameError::Kind(9, 0)),
            (b"vf\x07\0\x01\0\0\0\0", FrameError::Kind(7, 1)),
            (b"vf\x06\0\x01\0\0\0\0", FrameError::Kind(6, 1)),
        ] {
            let mut decoder = Decoder::default();
            decoder.push(bytes);
            assert_eq!(decoder.next_frame(), Err(error));
        }
    }
}
