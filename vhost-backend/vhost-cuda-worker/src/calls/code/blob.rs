//! Blobs: images and graph descriptions that arrive in pieces, before the call that uses them.

use std::collections::HashMap;

use protocol::ids::BlobId;
use protocol::limits::{BLOB_BYTES_MAX, BLOBS_MAX};

use crate::driver::{CuError, CuResult};

struct Blob {
    total: u64,
    bytes: Vec<u8>,
}

/// The blobs that haven't been used by a call yet, by id.
#[derive(Default)]
pub(in crate::calls) struct Blobs {
    blobs: HashMap<BlobId, Blob>,
    /// The sum of the total sizes, in bytes, that the guest has announced for the blobs in `blobs`.
    announced: u64,
}

impl Blobs {
    /// Adds a piece to the blob with this id. Pieces must arrive in order. If a piece doesn't
    /// continue the blob or is too long, discards the blob and fails.
    pub(in crate::calls) fn put(
        &mut self,
        id: BlobId,
        total: u64,
        offset: u64,
        data: &[u8],
    ) -> CuResult {
        if offset == 0 {
            self.forget(id);
            if id == BlobId::INLINE || total == 0 {
                return Err(CuError::INVALID_VALUE);
            }
            let room = BLOB_BYTES_MAX - self.announced;
            if total > room || self.blobs.len() >= BLOBS_MAX {
                return Err(CuError::OUT_OF_MEMORY);
            }
            self.announced += total;
            // Memory is allocated only as pieces arrive, whatever total size the guest announces.
            self.blobs.insert(id, Blob { total, bytes: Vec::new() });
        }
        let blob = self.blobs.get_mut(&id).ok_or(CuError::INVALID_VALUE)?;
        let fits = blob.bytes.len() as u64 == offset
            && blob.total == total
            && total - offset >= data.len() as u64;
        if !fits {
            self.forget(id);
            return Err(CuError::INVALID_VALUE);
        }
        blob.bytes.extend_from_slice(data);
        Ok(())
    }

    /// Returns how many bytes of a blob have been received so far, or 0 if the blob doesn't exist.
    pub(in crate::calls) fn len(&self, id: BlobId) -> u64 {
        self.blobs.get(&id).map_or(0, |blob| blob.bytes.len() as u64)
    }

    /// Removes a blob all of whose pieces have arrived, and returns its bytes.
    pub(in crate::calls) fn take(&mut self, id: BlobId) -> CuResult<Vec<u8>> {
        let complete = self.blobs.get(&id).is_some_and(|b| b.bytes.len() as u64 == b.total);
        if !complete {
            return Err(CuError::INVALID_VALUE);
        }
        self.forget(id).map(|blob| blob.bytes).ok_or(CuError::INVALID_VALUE)
    }

    fn forget(&mut self, id: BlobId) -> Option<Blob> {
        let blob = self.blobs.remove(&id)?;
        self.announced -= blob.total;
        Some(blob)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_in_order_make_a_blob() {
        let mut blobs = Blobs::default();
        blobs.put(BlobId(5), 6, 0, b"abc").unwrap();
        assert_eq!(blobs.take(BlobId(5)), Err(CuError::INVALID_VALUE));
        blobs.put(BlobId(5), 6, 3, b"def").unwrap();
        assert_eq!(blobs.take(BlobId(5)), Ok(b"abcdef".to_vec()));
        assert_eq!((blobs.take(BlobId(5)).is_err(), blobs.announced), (true, 0));
    }

    #[test]
    fn a_piece_out_of_order_or_past_the_end_discards_the_blob() {
        for (total, offset, data) in
            [(6, 4, &b"d"[..]), (6, 3, b"defg"), (7, 3, b"def"), (6, u64::MAX, b"d")]
        {
            let mut blobs = Blobs::default();
            blobs.put(BlobId(5), 6, 0, b"abc").unwrap();
            assert_eq!(blobs.put(BlobId(5), total, offset, data), Err(CuError::INVALID_VALUE));
            assert_eq!(blobs.put(BlobId(5), 6, 3, b"def"), Err(CuError::INVALID_VALUE));
            assert_eq!(blobs.announced, 0);
        }
    }

    #[test]
    fn announced_bytes_are_bounded() {
        let mut blobs = Blobs::default();
        blobs.put(BlobId(1), BLOB_BYTES_MAX, 0, b"a").unwrap();
        assert_eq!(blobs.put(BlobId(2), 1, 0, b"b"), Err(CuError::OUT_OF_MEMORY));
        assert_eq!(blobs.put(BlobId(3), u64::MAX, 0, b"b"), Err(CuError::OUT_OF_MEMORY));
        blobs.put(BlobId(1), 1, 0, b"c").unwrap();
        blobs.put(BlobId(2), 1, 0, b"b").unwrap();
    }
}
