//! Provides PTX in place of machine code. A driver without a real GPU (softgpu) executes only PTX,
//! but programs such as Numba and CuPy get machine code from nvJitLink and NVRTC, and load it.
//! Before they generate machine code, both compilers look up the code that they would compile in
//! the driver's cache. If the driver executes PTX, the cache answers with PTX, which the program
//! then loads as if it were a cubin.

use crate::ptx_image::{self, Linking};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// The maximum number of results of NVRTC's first step that are kept for its second step. NVRTC's
/// steps follow each other, so this is more than the number of threads that compile at the same
/// time.
const KEPT: usize = 64;

/// The newest version of PTX that softgpu supports, as major and minor number: that of CUDA 13.0.
const NEWEST: (u32, u32) = (9, 0);

/// A result of NVRTC's first step.
struct Kept {
    /// The code in NVVM's format.
    code: Arc<[u8]>,
    ptx: Vec<u8>,
}

/// Results of NVRTC's first step, which compiles code in NVVM's format to PTX. The second step
/// compiles the same code to machine code.
pub struct Results(Mutex<VecDeque<Kept>>);

impl Results {
    pub const fn new() -> Self {
        Self(Mutex::new(VecDeque::new()))
    }

    /// Keeps the PTX that some code was compiled to.
    pub fn keep(&self, code: &[u8], ptx: &[u8]) {
        if !is_ptx(ptx) {
            return;
        }
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|kept| *kept.code != *code);
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back(Kept { code: code.into(), ptx: ptx.to_vec() });
    }

    /// Returns the PTX that can take the place of the machine code for some code: the code itself
    /// if it's PTX, or else the PTX that it was compiled to last.
    ///
    /// Returns `None` for an input of nvJitLink's linker if the target is newer than Hopper,
    /// because nvJitLink's files for such targets have another format.
    pub fn find(&self, code: &[u8], target: (u32, Linking)) -> Option<Vec<u8>> {
        if target.0 >= 100 && target.1 == Linking::Input {
            return None;
        }
        if is_ptx(code) {
            return Some(image(code, target));
        }
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = kept.iter().position(|kept| *kept.code == *code)?;
        kept.remove(at).map(|kept| image(&kept.ptx, target))
    }
}

/// Returns whether some code is PTX text, with or without a null byte at its end.
fn is_ptx(code: &[u8]) -> bool {
    let text = code.strip_suffix(&[0]).unwrap_or(code);
    !text.contains(&0) && version(text).is_some()
}

/// Finds the version of a PTX text in its `.version` directive, which NVIDIA's compilers put on a
/// separate line. Returns the range of the number in the text, and the version.
fn version(text: &[u8]) -> Option<(Range<usize>, (u32, u32))> {
    const DIRECTIVE: &[u8] = b".version ";
    let mut at = 0;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        if let Some(number) = line.strip_prefix(DIRECTIVE) {
            let number = number.trim_ascii_end();
            let (major, minor) = str::from_utf8(number).ok()?.split_once('.')?;
            let at = at + DIRECTIVE.len();
            return Some((at..at + number.len(), (major.parse().ok()?, minor.parse().ok()?)));
        }
        at += line.len();
    }
    None
}

/// Returns an image for a PTX text.
///
/// The compiler may be newer than the driver. A driver loads machine code from a newer compiler, so
/// it must not refuse the text only because of its PTX version. A newer version is therefore
/// replaced by the driver's. If the text needs an instruction that the driver doesn't know, loading
/// it fails with an error that names the instruction.
fn image(ptx: &[u8], (capability, linking): (u32, Linking)) -> Vec<u8> {
    let mut text = ptx.strip_suffix(&[0]).unwrap_or(ptx).to_vec();
    if let Some((place, _)) = version(&text).filter(|(_, version)| *version > NEWEST) {
        text.splice(place, format!("{}.{}", NEWEST.0, NEWEST.1).into_bytes());
    }
    ptx_image::wrap(&text, capability, linking)
}

#[cfg(test)]
mod tests {
    use super::{KEPT, Linking, Results, ptx_image};

    const TARGET: (u32, Linking) = (90, Linking::Complete);

    fn ptx(version: &str) -> Vec<u8> {
        format!("//\n// .version 1.0\n//\n\n.version {version}\n.target sm_90a\n").into_bytes()
    }

    fn image(version: &str) -> Vec<u8> {
        ptx_image::wrap(&ptx(version), TARGET.0, TARGET.1)
    }

    #[test]
    fn ptx_takes_its_own_place_with_a_version_that_the_driver_knows() {
        let results = Results::new();
        for (version, expected) in
            [("8.10", "8.10"), ("9.0", "9.0"), ("9.5", "9.0"), ("10.1", "9.0"), ("7.8 ", "7.8 ")]
        {
            let mut code = ptx(version);
            let expected = image(expected);
            assert_eq!(results.find(&code, TARGET), Some(expected.clone()), "{version}");
            code.push(0);
            assert_eq!(results.find(&code, TARGET), Some(expected), "{version}");
        }
    }

    #[test]
    fn code_in_another_format_has_the_ptx_that_it_was_compiled_to() {
        let results = Results::new();
        for other in [&b""[..], b"BC\xc0\xde", b".version", b".version x.y\n", b".version 9.0\n\0a"]
        {
            assert_eq!(results.find(other, TARGET), None, "{other:?}");
            // A first step whose result is a cubin provides no PTX.
            results.keep(other, b"\x7fELF");
            assert_eq!(results.find(other, TARGET), None, "{other:?}");
        }
        results.keep(b"BC1", &ptx("9.5"));
        results.keep(b"BC2", &ptx("8.0"));
        results.keep(b"BC1", &ptx("8.1"));
        assert_eq!(results.find(b"BC", TARGET), None);
        assert_eq!(results.find(b"BC1", TARGET), Some(image("8.1")));
        assert_eq!(results.find(b"BC1", TARGET), None, "the second step happens once");
        assert!(results.find(b"BC2", TARGET).is_some());
    }

    #[test]
    fn results_without_a_second_step_dont_accumulate() {
        let results = Results::new();
        for code in 0..2 * KEPT as u32 {
            results.keep(&code.to_le_bytes(), &ptx("8.0"));
        }
        let has = |code: u32| results.find(&code.to_le_bytes(), TARGET).is_some();
        assert!(!has(KEPT as u32 - 1));
        assert!(has(KEPT as u32) && has(2 * KEPT as u32 - 1));
    }

    #[test]
    fn inputs_of_the_linker_have_its_format() {
        let code = ptx("8.0");
        let found = |capability| Results::new().find(&code, (capability, Linking::Input));
        assert_eq!(found(90), Some(ptx_image::wrap(&code, 90, Linking::Input)));
        assert_eq!(found(100), None);
        assert!(Results::new().find(&code, (100, Linking::Complete)).is_some());
    }
}
