//! Parses bytes as a fatbin and as an image of unknown length, with limits on the decompressed
//! size.

use cuda_api::fatbin::{Decompressor, Fatbin, prefix};

/// Maximum number of bytes to which an entry may decompress.
const LIMIT: usize = 1 << 20;

pub fn run(bytes: &[u8]) {
    if let Ok(image) = prefix(bytes) {
        assert_eq!(prefix(image).map(<[u8]>::len), Ok(image.len()), "the length isn't stable");
    }
    let Ok(fatbin) = Fatbin::parse(bytes) else { return };
    assert!(fatbin.bytes().len() <= bytes.len());
    let mut decompressor = Decompressor::default();
    let mut count = 0;
    for entry in fatbin.entries() {
        count += 1;
        assert!(count <= bytes.len() / 64 + 1, "more entries than there is room for");
        let Ok(entry) = entry else { continue };
        let alone = entry.payload(LIMIT);
        assert!(alone.as_ref().is_ok_and(|payload| payload.len() <= LIMIT) || alone.is_err());
        let again = entry.payload_with(&mut decompressor, LIMIT);
        assert_eq!(alone.as_deref().ok(), again.ok(), "the decompressor keeps state");
        let _ = entry.image(LIMIT);
    }
}
