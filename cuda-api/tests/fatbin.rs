//! Tests with intact and damaged fatbins that nvcc created (`data/make.sh`).

use cuda_api::fatbin::{self, Decompressor, Entry, Fatbin, FatbinError, Image, Kind, SpanKind};
use proptest::prelude::*;

const LIMIT: usize = 1 << 20;
const PLAIN: &[u8] = include_bytes!("data/plain.fatbin");
const LZ4: &[u8] = include_bytes!("data/lz4.fatbin");
const ZSTD: &[u8] = include_bytes!("data/zstd.fatbin");

fn images(bytes: &[u8]) -> Vec<(u32, Image)> {
    let entries = Fatbin::parse(bytes).expect("nvcc made it").entries();
    let image = |entry: Result<Entry<'_>, FatbinError>| {
        let entry = entry.expect("nvcc made it");
        Some((entry.arch, entry.image(LIMIT).expect("nvcc made it")?))
    };
    entries.filter_map(image).collect()
}

#[test]
fn all_compressions_hold_the_same_images() {
    let plain = images(PLAIN);
    let [(75, Image::Ptx(ptx)), (90, Image::Cubin(cubin))] = &plain[..] else {
        panic!("unexpected entries: {plain:?}");
    };
    assert!(ptx.contains(".entry twice(") && ptx.ends_with("}\n\n"), "{ptx:?}");
    assert!(cubin.starts_with(b"\x7fELF"));
    for (name, bytes) in [("LZ4", LZ4), ("zstd", ZSTD)] {
        let images = images(bytes);
        let [(75, Image::Ptx(other_ptx)), (90, Image::Cubin(other_cubin))] = &images[..] else {
            panic!("unexpected entries in {name}: {images:?}");
        };
        // Uncompressed PTX is padded with line feeds.
        assert_eq!(other_ptx.trim(), ptx.trim(), "{name}");
        assert_eq!(other_cubin, cubin, "{name}");
    }
}

#[test]
fn kinds_and_architectures_are_read() {
    let entries: Vec<_> = Fatbin::parse(ZSTD)
        .expect("nvcc made it")
        .entries()
        .map(|entry| entry.map(|entry| (entry.kind, entry.arch)))
        .collect();
    assert_eq!(entries, [Ok((Kind::Ptx, 75)), Ok((Kind::Cubin, 90))]);
}

#[test]
fn bytes_after_a_fatbin_are_not_its_own() {
    let mut longer = LZ4.to_vec();
    longer.extend(b"something else");
    assert_eq!(images(&longer), images(LZ4));
    assert_eq!(Fatbin::parse(&longer).expect("nvcc made it").bytes(), LZ4);
}

#[test]
fn entries_can_be_left_out() {
    for bytes in [PLAIN, LZ4, ZSTD] {
        let fatbin = Fatbin::parse(bytes).unwrap();
        assert_eq!(fatbin.only(|_| true).unwrap().as_deref(), Some(bytes));
        assert_eq!(fatbin.only(|_| false), Ok(None));
        let cubins = fatbin.only(|entry| entry.kind == Kind::Cubin).unwrap().unwrap();
        assert_eq!(images(&cubins), images(bytes)[1..]);
        assert!(fatbin.only(|entry| entry.kind == Kind::Ptx).unwrap().unwrap().len() < bytes.len());
    }
}

#[test]
fn unknown_compressions_are_refused() {
    let flags_at = 16 + 40;
    for flags in [0x1000u16, 0x4000, 0xa000] {
        let mut bytes = ZSTD.to_vec();
        bytes[flags_at..flags_at + 2].copy_from_slice(&flags.to_le_bytes());
        let error = Fatbin::parse(&bytes).unwrap().entries().next().unwrap().unwrap_err();
        assert!(matches!(error, FatbinError::Invalid { .. }), "{error}");
        assert!(Fatbin::parse(&bytes).unwrap().only(|_| true).is_err());
    }
}

#[test]
fn decompression_stops_at_the_limit() {
    for bytes in [PLAIN, LZ4, ZSTD] {
        let entry = Fatbin::parse(bytes).unwrap().entries().next().unwrap().unwrap();
        let len = entry.payload(LIMIT).unwrap().len();
        assert!(entry.payload(len).is_ok());
        let error = entry.payload(len - 1).unwrap_err();
        assert!(matches!(error, FatbinError::TooLarge { .. }), "{error}");
    }
}

#[test]
fn a_decompressor_can_be_used_again() {
    let mut decompressor = Decompressor::default();
    fn all(bytes: &[u8]) -> impl Iterator<Item = Entry<'_>> {
        Fatbin::parse(bytes).unwrap().entries().map(Result::unwrap)
    }
    for _ in 0..2 {
        for entry in [ZSTD, LZ4, PLAIN].into_iter().flat_map(all) {
            let payload = entry.payload(LIMIT).unwrap();
            assert_eq!(entry.payload_with(&mut decompressor, LIMIT), Ok(&payload[..]));
            // Interrupt the decompression of a payload with a limit. It must not affect the next
            // payload.
            let _ = entry.payload_with(&mut decompressor, payload.len() / 2);
        }
        let mut damaged = ZSTD.to_vec();
        damaged[200..300].fill(0x55);
        for entry in all(&damaged) {
            let alone = entry.payload(LIMIT);
            assert_eq!(entry.payload_with(&mut decompressor, LIMIT).map(<[u8]>::to_vec), alone);
        }
    }
    let longest = all(ZSTD).map(|entry| entry.payload(LIMIT).unwrap().len()).max();
    assert!(Some(decompressor.longest()) >= longest);
}

/// A wrapper in nvcc's layout.
#[repr(C)]
struct Wrapper {
    magic: u32,
    version: u32,
    data: *const u8,
    parts: *const *const u8,
}

fn spans<T>(image: &T) -> Vec<(SpanKind, Vec<u8>)> {
    spans_at(std::ptr::from_ref(image).cast())
}

fn spans_at(image: *const u8) -> Vec<(SpanKind, Vec<u8>)> {
    // SAFETY: all images that the tests pass are complete.
    let spans = unsafe { fatbin::span(image.cast()) }.expect("the image is known");
    // SAFETY: the image of the span is still in memory, unchanged.
    spans.iter().map(|span| (span.kind, unsafe { span.bytes() }.to_vec())).collect()
}

#[test]
fn spans_reach_as_far_as_the_image() {
    let fatbin = |bytes: &[u8]| (SpanKind::Fatbin, bytes.to_vec());
    assert_eq!(spans_at(ZSTD.as_ptr()), [fatbin(ZSTD)]);

    let Image::Cubin(cubin) = images(LZ4).remove(1).1 else { panic!("no cubin") };
    let mut longer = cubin.clone();
    longer.resize(cubin.len() + 100, 0xff);
    assert_eq!(spans_at(longer.as_ptr()), [(SpanKind::Elf, cubin)]);

    assert_eq!(
        spans_at(c".version 8.0".as_ptr().cast()),
        [(SpanKind::Ptx, b".version 8.0\0".to_vec())]
    );

    let one = Wrapper {
        magic: fatbin::WRAPPER_MAGIC,
        version: 1,
        data: LZ4.as_ptr(),
        // In a wrapper of version 1, this field is a file name and must not be read.
        parts: c"name".as_ptr().cast(),
    };
    assert_eq!(spans(&one), [fatbin(LZ4)]);

    let parts = [ZSTD.as_ptr(), PLAIN.as_ptr(), std::ptr::null()];
    let linked = Wrapper { version: 2, parts: parts.as_ptr(), ..one };
    assert_eq!(spans(&linked), [fatbin(LZ4), fatbin(ZSTD), fatbin(PLAIN)]);

    for rubbish in [c"\x01\x02", c""] {
        // SAFETY: the text ends with a zero byte.
        assert!(unsafe { fatbin::span(rubbish.as_ptr().cast()) }.is_err());
    }
    let newer = Wrapper { version: 3, ..linked };
    // SAFETY: the wrapper is complete.
    let error = unsafe { fatbin::span((&raw const newer).cast()) }.unwrap_err();
    assert!(error.to_string().contains("version"), "{error}");
    // SAFETY: `span` allows null.
    assert!(unsafe { fatbin::span(std::ptr::null()) }.is_err());
}

/// If header sizes of 0 were accepted, a small file could describe millions of sections, and a file
/// whose header has no length would have no length itself.
#[test]
fn elf_headers_have_their_lengths() {
    let mut elf = vec![0u8; 128];
    elf[..5].copy_from_slice(b"\x7fELF\x02");
    let field = |place: usize, value: u16| (place, value);
    for (place, value) in [field(0x28, 64), field(0x34, 64), field(0x3a, 64), field(0x3c, 1)] {
        elf[place..place + 2].copy_from_slice(&value.to_le_bytes());
    }
    assert_eq!(fatbin::prefix(&elf).map(<[u8]>::len), Ok(128));
    for place in [0x34, 0x3a] {
        let mut damaged = elf.clone();
        damaged[place] = 0;
        assert!(fatbin::prefix(&damaged).is_err(), "the field at {place:#x}");
    }
}

/// If the number of sections doesn't fit into the file header, it's in the first section header. If
/// it's zero there, too, the file is refused, because the section header that contains the number
/// would be missing from the file.
#[test]
fn an_elf_file_with_section_headers_has_sections() {
    let mut elf = vec![0u8; 128];
    elf[..5].copy_from_slice(b"\x7fELF\x02");
    for place in [0x28, 0x34, 0x3a] {
        elf[place] = 64;
    }
    assert!(fatbin::prefix(&elf).is_err());
    elf[64 + 32] = 1;
    assert_eq!(fatbin::prefix(&elf).map(<[u8]>::len), Ok(128));
}

/// Reads everything that can be read. This only checks that reading always terminates.
fn read_all(bytes: &[u8]) {
    if let Ok(fatbin) = Fatbin::parse(bytes) {
        for entry in fatbin.entries().flatten() {
            if let Ok(payload) = entry.payload(LIMIT) {
                assert!(payload.len() <= LIMIT);
            }
        }
    }
}

proptest! {
    #[test]
    fn rubbish_is_refused(rubbish in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(Fatbin::parse(&rubbish).is_err());
        let mut headed = 0xba55_ed50u32.to_le_bytes().to_vec();
        headed.extend([1, 0, 16, 0]);
        headed.extend((rubbish.len() as u64).to_le_bytes());
        headed.extend(&rubbish);
        read_all(&headed);
        // Zeros are padding, not entries.
        let has_entry = rubbish.iter().any(|&byte| byte != 0);
        let entries = Fatbin::parse(&headed).map(|fatbin| fatbin.entries().collect::<Vec<_>>());
        prop_assert_eq!(entries.unwrap().iter().any(Result::is_err), has_entry);
    }

    #[test]
    fn damaged_fatbins_are_survived(
        which in 0..3usize,
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = [PLAIN, LZ4, ZSTD][which].to_vec();
        for (index, byte) in damage {
            // Damage the headers more often than other bytes, because they contain the lengths.
            let at = index.index(bytes.len());
            let at = if byte & 1 == 0 { at % 0x70 } else { at };
            bytes[at] = byte;
        }
        read_all(&bytes);
        bytes.truncate(cut.index(bytes.len()));
        read_all(&bytes);
    }
}
