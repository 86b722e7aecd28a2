//! Computes the device memory that the variables in PTX text take, without parsing the rest of the
//! text.
//!
//! The text comes from a guest. The worker reads the text in one pass, and keeps no part of it.

use memchr::memmem;

use super::cubin::{LAUNCHES, allocates};

/// The error for PTX text that isn't loaded because its memory can't be determined beforehand. No
/// compiler generates such text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unreadable {
    #[error("a variable in the PTX has a size that is not a plain number")]
    Size,
    #[error("the PTX ends in a {0}")]
    Unterminated(&'static str),
    #[error("the PTX has a closing brace without an opening one")]
    Brace,
}

/// The variables defined in PTX text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Variables {
    /// The total size in bytes of the declared `.global` and `.const` variables, including padding
    /// for their alignment.
    pub bytes: u64,
    /// Whether the text names `malloc` or another CUDA function that allocates, so that kernels may
    /// allocate from the heap.
    pub uses_heap: bool,
    /// Whether the text contains the word `vprintf`, so that kernels may print.
    pub may_print: bool,
    /// Whether the text names a function with which kernels launch other kernels.
    pub may_launch: bool,
}

/// Finds the variables that PTX text declares, and whether the text names certain CUDA functions.
///
/// The words `.extern` and `.visible` make no difference: a variable that is declared with a size
/// counts, because the compiler may take `.extern` as part of the declaration before it.
pub(super) fn variables(text: &[u8]) -> Result<Variables, Unreadable> {
    let mut tokens = Tokens { text, at: 0, depth: 0 };
    let mut found = Variables::default();
    let (mut external, mut last) = (false, &b""[..]);
    while let Some(token) = tokens.next()? {
        match token {
            b";" | b"{" | b"}" => external = false,
            b".extern" => external = true,
            // Skip `.global` after `.ptr`: `.param .u64 .ptr .global name` doesn't declare a global
            // variable, but says that the parameter points to one.
            b".global" | b".const" if last != b".ptr" => {
                found.bytes = found.bytes.saturating_add(declaration(&mut tokens)?);
                external = false;
            }
            b"vprintf" => found.may_print = true,
            _ => {
                found.uses_heap |= token == b"malloc" || external && allocates(token);
                found.may_launch |= LAUNCHES.iter().any(|part| token.starts_with(part));
            }
        }
        last = token;
    }
    Ok(found)
}

/// Reads the rest of a variable declaration up to its semicolon. Returns the total size of the
/// declared variables in bytes.
fn declaration(tokens: &mut Tokens<'_>) -> Result<u64, Unreadable> {
    let (mut element, mut lanes, mut align, mut total) = (16u64, 1u64, 1u64, 0u64);
    let mut token = tokens.next()?;
    while let Some(word) = token {
        match word {
            b".align" => {
                align = align.max(tokens.next()?.and_then(number).ok_or(Unreadable::Size)?);
            }
            b".v2" => lanes = 2,
            b".v4" => lanes = 4,
            b".v8" => lanes = 8,
            // Skip an attribute in parentheses, such as `.attribute(.unified(…))`.
            b"(" => tokens.skip_to(b")")?,
            _ if word.starts_with(b".") => element = size_of_type(word).unwrap_or(element),
            _ => break,
        }
        token = tokens.next()?;
    }
    // Read the variables' names, each with optional dimensions and an optional initial value.
    while token.is_some_and(|token| token != b";") {
        let (mut count, mut open) = (1u64, false);
        token = tokens.next()?;
        while token == Some(b"[") {
            match tokens.next()? {
                // The array's size is omitted, so its initial value determines the number of
                // elements.
                Some(b"]") => open = true,
                dimension => {
                    let dimension = dimension.and_then(number).ok_or(Unreadable::Size)?;
                    count = count.saturating_mul(dimension);
                    if tokens.next()? != Some(b"]") {
                        return Err(Unreadable::Size);
                    }
                }
            }
            token = tokens.next()?;
        }
        if token == Some(b"=") {
            let (elements, after) = value(tokens)?;
            token = after;
            if open {
                count = count.saturating_mul(elements);
            }
        } else if open {
            count = 0;
        }
        let bytes = count.saturating_mul(element).saturating_mul(lanes);
        total = total.saturating_add(bytes).saturating_add(align - 1);
        token = match token {
            Some(b",") => tokens.next()?,
            Some(b";") | None => token,
            Some(_) => return Err(Unreadable::Size),
        };
    }
    Ok(total)
}

/// Reads an initial value up to the next comma or semicolon. Returns the largest number of elements
/// that the value can have, and the comma or semicolon.
fn value<'a>(tokens: &mut Tokens<'a>) -> Result<(u64, Option<&'a [u8]>), Unreadable> {
    let (mut depth, mut elements) = (0u64, 1u64);
    loop {
        match tokens.next()? {
            Some(b"{" | b"(") => depth += 1,
            Some(b"}" | b")") => depth = depth.saturating_sub(1),
            Some(b",") if depth > 0 => elements += 1,
            token @ (Some(b"," | b";") | None) => return Ok((elements, token)),
            Some(_) => {}
        }
    }
}

fn size_of_type(word: &[u8]) -> Option<u64> {
    Some(match word {
        b".b8" | b".u8" | b".s8" => 1,
        b".b16" | b".u16" | b".s16" | b".f16" | b".bf16" => 2,
        b".b32" | b".u32" | b".s32" | b".f32" | b".f16x2" | b".bf16x2" => 4,
        b".b64" | b".u64" | b".s64" | b".f64" => 8,
        b".b128" => 16,
        // References of these kinds take at most as many bytes as the largest descriptor.
        b".texref" | b".samplerref" | b".surfref" => 64,
        _ => return None,
    })
}

fn number(token: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(token).ok()?;
    let text = text.strip_suffix('U').unwrap_or(text);
    let (digits, radix) = match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&text[2..], 16),
        [b'0', b'b' | b'B', ..] => (&text[2..], 2),
        [b'0', _, ..] => (&text[1..], 8),
        _ => (text, 10),
    };
    u64::from_str_radix(digits, radix).ok()
}

/// The tokens of PTX text: words (directives with their dot, opcodes with their modifiers) and
/// single punctuation characters. Comments, strings and white space are skipped.
///
/// The rules are those of ptxas: comments don't nest, a backslash means nothing in a string, both
/// can contain line feeds, and only a line feed ends a `//` comment. There needn't be white space
/// between a word and a directive after it, as in `sm_90.global` or `.visible.global`. In
/// functions, where words are opcodes, the dots after a word belong to the word, as in
/// `ld.global.u32`.
struct Tokens<'a> {
    text: &'a [u8],
    at: usize,
    /// The number of braces that are open.
    depth: u64,
}

impl<'a> Tokens<'a> {
    fn next(&mut self) -> Result<Option<&'a [u8]>, Unreadable> {
        loop {
            let rest = &self.text[self.at..];
            let len = match rest {
                // A zero byte ends the text, as it does for the driver.
                [] | [0, ..] if self.depth > 0 => return Err(Unreadable::Unterminated("block")),
                [] | [0, ..] => return Ok(None),
                [b'/', b'/', ..] => {
                    self.at += until(rest, b"\n").unwrap_or(rest.len());
                    continue;
                }
                [b'/', b'*', after @ ..] => {
                    let len = until(after, b"*/").ok_or(Unreadable::Unterminated("comment"))?;
                    self.at += 2 + len;
                    continue;
                }
                [b'"', after @ ..] => {
                    let len = until(after, b"\"").ok_or(Unreadable::Unterminated("string"))?;
                    self.at += 1 + len;
                    continue;
                }
                [space, ..] if space.is_ascii_whitespace() => {
                    self.at += 1;
                    continue;
                }
                [first, ..] if is_word(*first) => {
                    let ends =
                        |byte: &u8| !is_word(*byte) || *byte == b'.' && !self.is_opcode(*first);
                    1 + rest[1..].iter().position(ends).unwrap_or(rest.len() - 1)
                }
                [b'{', ..] => {
                    self.depth += 1;
                    1
                }
                [b'}', ..] => {
                    self.depth = self.depth.checked_sub(1).ok_or(Unreadable::Brace)?;
                    1
                }
                _ => 1,
            };
            self.at += len;
            return Ok(Some(&rest[..len]));
        }
    }

    /// Returns whether a word that begins with the character `first` can be an opcode at the
    /// current position.
    fn is_opcode(&self, first: u8) -> bool {
        self.depth > 0 && (first.is_ascii_alphabetic() || first == b'_')
    }

    fn skip_to(&mut self, closing: &[u8]) -> Result<(), Unreadable> {
        let mut depth = 1;
        while let Some(token) = self.next()? {
            depth += i32::from(token == b"(") - i32::from(token == closing);
            if depth == 0 {
                break;
            }
        }
        Ok(())
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'.' | b'%')
}

/// Returns the number of bytes in `text` up to and including `mark`, if `text` contains it.
fn until(text: &[u8], mark: &[u8]) -> Option<usize> {
    memmem::find(text, mark).map(|at| at + mark.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn takes(text: &str, bytes: u64) {
        assert_eq!(variables(text.as_bytes()).map(|found| found.bytes), Ok(bytes), "{text}");
    }

    #[test]
    fn variables_are_counted_with_their_alignment() {
        takes(".version 8.0\n.target sm_75\n.address_size 64\n", 0);
        takes(".visible .global .align 4 .b8 big[104857600];", 104857600 + 3);
        takes(".global .u32 a;\n.const .f64 b[3];", 4 + 24);
        takes(".global .v4 .f32 a[2][0x10];", 512);
        takes(".global .u16 a, b[2], c = 7;", 8);
        takes(".global .b8 text[] = {104, 105, 0};", 3);
        takes(".extern .global .b8 elsewhere[];", 0);
        takes(".extern .shared .b8 dynamic[]; .weak .global .b64 a[010];", 64);
    }

    #[test]
    fn text_that_only_resembles_a_variable_is_not_counted() {
        takes("// .global .b8 a[100];\n/* .global .b8 b[100]; */ .file 1 \".global .b8 c[9];\"", 0);
        takes(".entry k(.param .u64 .ptr .global .align 4 p) { ld.global.u32 %r1, [%d1]; }", 0);
        takes(".shared .b8 s[100]; .entry k() { .local .b8 l[100]; st.global.u32 [a], 1; }", 0);
        takes(".global .b8 a[100]\0.global .b8 b[100];", 100);
    }

    #[test]
    fn variables_cannot_hide() {
        takes(".file 1 \"a\\\"\n.global .b8 v[100]; // \"", 100);
        takes(".pragma \"\\\"; .global .b8 v[100]; .pragma \"b\";", 100);
        takes("/* /* */ .global .b8 v[100]; /* */", 100);
        takes(".target sm_90.global .b8 v[100];", 100);
        takes(".visible.global.b8 v[100];", 100);
        takes(".extern .func f\n.global .b8 v[100];", 100);
        takes(".extern.global .b8 v[100];", 100);
        takes(".entry k() { a:.global.b8 v[100]; ld.global.u32 r, [p]; }", 100);
        takes(".entry k() { .loc 1 2 3 .global .b8 v[100]; }", 100);
        takes(".global .align 1024 .align 4 .b8 v[100];", 100 + 1023);
    }

    #[test]
    fn text_that_does_not_end_is_refused() {
        for (text, end) in [
            (".global .b8 a; /* b", "comment"),
            (".global .b8 a; .file 1 \"b", "string"),
            (".entry k() { .global .b8 a;", "block"),
            (".entry k() { ret; \0 }", "block"),
        ] {
            assert_eq!(variables(text.as_bytes()), Err(Unreadable::Unterminated(end)), "{text}");
        }
        assert_eq!(variables(b"} {"), Err(Unreadable::Brace));
    }

    #[test]
    fn attributes_and_odd_values_are_skipped() {
        takes(
            ".global .attribute(.unified(19,95)) .align 8 .u64 f = {generic(g)}, g;",
            8 + 7 + 8 + 7,
        );
        takes(".global .u64 f[2] = {a+8, b};", 16);
        takes(".visible .global .attribute(.managed) .align 4 .b8 m[100];", 103);
    }

    #[test]
    fn sizes_that_are_not_numbers_are_refused() {
        for text in [
            ".global .b8 a[N];",
            ".global .b8 a[1024*1024];",
            ".global .b8 a[2 * 3];",
            ".global .b8 a[(7)];",
            ".global .align x .b8 a;",
        ] {
            assert_eq!(variables(text.as_bytes()), Err(Unreadable::Size), "{text}");
        }
    }

    #[test]
    fn a_text_that_names_malloc_uses_the_heap() {
        let uses = |text: &str| variables(text.as_bytes()).unwrap().uses_heap;
        assert!(uses(".extern .func (.param .b64 r) malloc (.param .b64 n);"));
        assert!(uses(".extern .func (.param .b64 r) __nv_aligned_device_malloc (.param .b64 n);"));
        assert!(!uses("// malloc\n.global .b8 mallocs[3];"));
    }

    #[test]
    fn a_text_that_names_vprintf_may_print() {
        let prints = |text: &str| variables(text.as_bytes()).unwrap().may_print;
        assert!(prints("{ call.uni (r), vprintf, (format, values); }"));
        assert!(!prints("// vprintf\n.global .b8 printf[3];"));
    }

    #[test]
    fn sums_do_not_wrap_around() {
        takes(&".global .b64 a[0xffffffffffffffff];".repeat(3), u64::MAX);
    }

    proptest! {
        #[test]
        fn any_text_is_read_to_its_end(text in "(\\.global|\\.const|\\.b8|\\[|\\]|[a-z]|=|\\{|\\}|,|;|\"|/\\*|//| |\n|7){0,60}") {
            let _ = variables(text.as_bytes());
        }

        #[test]
        fn any_bytes_are_read_to_their_end(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = variables(&bytes);
        }
    }
}
