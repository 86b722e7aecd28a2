//! Reads the lexical elements of PTX text: words, literals, strings and punctuation.

/// A literal number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// An integer. The flag says whether it's written with the suffix `U`.
    Int(i128, bool),
    /// A single-precision literal (`0f3F800000`), as its bits.
    F32(u32),
    /// A double-precision literal, as its bits.
    F64(u64),
}

/// A position in PTX text, and the end of the range to read.
///
/// The methods that read an element first skip white space and comments. If the next element isn't
/// of the kind that a method reads, the method leaves the position in front of that element.
#[derive(Debug, Clone)]
pub struct Scanner<'a> {
    text: &'a str,
    at: usize,
    end: usize,
}

/// Returns whether a byte can be part of a word after the word's first character.
fn follows(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$')
}

impl<'a> Scanner<'a> {
    /// Starts at byte `at` of the text and ends before byte `end`.
    pub fn new(text: &'a str, at: usize, end: usize) -> Self {
        Self { text, at, end: end.min(text.len()) }
    }

    fn byte(&self, at: usize) -> u8 {
        if at < self.end { self.text.as_bytes()[at] } else { 0 }
    }

    /// Skips white space and comments.
    pub fn skip(&mut self) {
        loop {
            match self.byte(self.at) {
                b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => self.at += 1,
                b'/' if self.byte(self.at + 1) == b'/' => self.skip_line(),
                b'/' if self.byte(self.at + 1) == b'*' => {
                    let rest = &self.text.as_bytes()[self.at + 2..self.end];
                    let len = rest.windows(2).position(|w| w == b"*/");
                    self.at = len.map_or(self.end, |len| self.at + len + 4);
                }
                _ => return,
            }
        }
    }

    /// Skips the rest of the line.
    pub fn skip_line(&mut self) {
        let rest = &self.text.as_bytes()[self.at..self.end];
        self.at = rest.iter().position(|b| *b == b'\n').map_or(self.end, |len| self.at + len);
    }

    /// Returns the position of the next element, after skipping white space and comments.
    pub fn position(&mut self) -> usize {
        self.skip();
        self.at
    }

    /// Moves to a position that [`Self::position`] returned.
    pub fn rewind(&mut self, at: usize) {
        self.at = at;
    }

    /// Returns whether only white space and comments are left.
    pub fn at_end(&mut self) -> bool {
        self.position() >= self.end
    }

    /// Returns the next byte, or 0 at the end.
    pub fn peek(&mut self) -> u8 {
        self.skip();
        self.byte(self.at)
    }

    /// Returns the byte after the next one, or 0 at the end.
    pub fn peek_second(&mut self) -> u8 {
        self.skip();
        self.byte(self.at + 1)
    }

    /// Reads the given punctuation character. Returns false if it isn't the next element.
    pub fn eat(&mut self, byte: u8) -> bool {
        let hit = self.peek() == byte && byte != 0;
        self.at += usize::from(hit);
        hit
    }

    /// Reads two given punctuation characters in a row. Returns false if they aren't the next
    /// elements.
    pub fn eat_pair(&mut self, pair: &[u8; 2]) -> bool {
        let hit = self.peek() == pair[0] && self.byte(self.at + 1) == pair[1];
        self.at += 2 * usize::from(hit);
        hit
    }

    /// Reads a name, which may start with `%`, `$` or `_`.
    pub fn word(&mut self) -> Option<&'a str> {
        let first = self.peek();
        if !(first.is_ascii_alphabetic() || matches!(first, b'_' | b'$' | b'%')) {
            return None;
        }
        let start = self.at;
        self.at += 1;
        self.take_following();
        Some(&self.text[start..self.at])
    }

    fn take_following(&mut self) {
        while follows(self.byte(self.at)) {
            self.at += 1;
        }
    }

    /// Reads a dot and the text after it, such as `.global`, `.1d` or `.shared::cta`. Returns the
    /// text without the dot.
    pub fn dotted(&mut self) -> Option<&'a str> {
        if self.peek() != b'.' || !follows(self.byte(self.at + 1)) {
            return None;
        }
        let start = self.at + 1;
        self.at = start;
        loop {
            self.take_following();
            let joined = self.byte(self.at) == b':'
                && self.byte(self.at + 1) == b':'
                && follows(self.byte(self.at + 2));
            if !joined {
                return Some(&self.text[start..self.at]);
            }
            self.at += 2;
        }
    }

    /// Reads a vector component such as `.x` that directly follows a name.
    pub fn component(&mut self) -> bool {
        let found = self.byte(self.at) == b'.' && self.byte(self.at + 1).is_ascii_alphabetic();
        if found {
            self.at += 1;
            self.take_following();
        }
        found
    }

    /// Returns the text from position `start` to the current position.
    pub fn since(&self, start: usize) -> &'a str {
        &self.text[start..self.at]
    }

    /// Reads a number without a sign.
    pub fn number(&mut self) -> Option<Number> {
        if !self.peek().is_ascii_digit() {
            return None;
        }
        let start = self.at;
        let (number, end) = self.number_at(start)?;
        // Reject text such as `12abc`, which isn't a number followed by a name.
        if follows(self.byte(end)) {
            return None;
        }
        self.at = end;
        Some(number)
    }

    fn number_at(&self, start: usize) -> Option<(Number, usize)> {
        let run = |from: usize, accepts: fn(&u8) -> bool| {
            from + self.text.as_bytes()[from..self.end].iter().take_while(|b| accepts(b)).count()
        };
        let prefix = (self.byte(start), self.byte(start + 1).to_ascii_lowercase());
        let (digits, radix, accepts): (usize, u32, fn(&u8) -> bool) = match prefix {
            (b'0', b'x') => (start + 2, 16, u8::is_ascii_hexdigit),
            (b'0', b'b') => (start + 2, 2, |b| matches!(b, b'0' | b'1')),
            (b'0', b'f') => {
                let end = run(start + 2, u8::is_ascii_hexdigit);
                let bits = u32::from_str_radix(self.text.get(start + 2..end)?, 16).ok()?;
                return (end == start + 10).then_some((Number::F32(bits), end));
            }
            (b'0', b'd') => {
                let end = run(start + 2, u8::is_ascii_hexdigit);
                let bits = u64::from_str_radix(self.text.get(start + 2..end)?, 16).ok()?;
                return (end == start + 18).then_some((Number::F64(bits), end));
            }
            _ => (start, 10, u8::is_ascii_digit),
        };
        let mut end = run(digits, accepts);
        if radix == 10 {
            let mut float = false;
            if self.byte(end) == b'.' {
                float = true;
                end = run(end + 1, u8::is_ascii_digit);
            }
            if self.byte(end).eq_ignore_ascii_case(&b'e') {
                let sign = usize::from(matches!(self.byte(end + 1), b'+' | b'-'));
                let last = run(end + 1 + sign, u8::is_ascii_digit);
                if last > end + 1 + sign {
                    (float, end) = (true, last);
                }
            }
            if float {
                let value = self.text.get(start..end)?.parse::<f64>().ok()?;
                return Some((Number::F64(value.to_bits()), end));
            }
        }
        let text = self.text.get(digits..end)?;
        let octal = radix == 10 && text.len() > 1 && text.starts_with('0');
        let value = i128::from_str_radix(text, if octal { 8 } else { radix }).ok()?;
        if !(0..1 << 64).contains(&value) {
            return None;
        }
        let unsigned = self.byte(end) == b'U';
        Some((Number::Int(value, unsigned), end + usize::from(unsigned)))
    }

    /// Reads a string in double quotes. Returns its text without the quotes.
    pub fn string(&mut self) -> Option<&'a str> {
        if self.peek() != b'"' {
            return None;
        }
        let start = self.at + 1;
        let rest = &self.text.as_bytes()[start..self.end];
        let len = rest.iter().position(|b| *b == b'"')?;
        self.at = start + len + 1;
        Some(&self.text[start..start + len])
    }

    /// Skips a block in braces, including nested ones. Returns the range between the outer braces.
    /// Fails if the block doesn't end, or nests deeper than `depth`.
    pub fn block(&mut self, depth: usize) -> Option<std::ops::Range<usize>> {
        if !self.eat(b'{') {
            return None;
        }
        let (start, mut open) = (self.at, 1);
        while self.at < self.end {
            match self.byte(self.at) {
                b'{' => {
                    open += 1;
                    if open > depth {
                        return None;
                    }
                }
                b'}' => {
                    open -= 1;
                    if open == 0 {
                        self.at += 1;
                        return Some(start..self.at - 1);
                    }
                }
                b'"' => {
                    self.string()?;
                    continue;
                }
                b'/' => {
                    let before = self.at;
                    self.skip();
                    if self.at > before {
                        continue;
                    }
                }
                _ => {}
            }
            self.at += 1;
        }
        None
    }

    /// Skips everything up to and including the next semicolon.
    pub fn skip_statement(&mut self) -> Option<()> {
        while !self.at_end() {
            if self.eat(b';') {
                return Some(());
            }
            if self.string().is_none() {
                self.at += 1;
            }
        }
        None
    }

    /// Describes the next element, for an error message.
    pub fn describe(&mut self) -> String {
        if self.at_end() {
            return "the end of the text".into();
        }
        let start = self.at;
        let rest = self.text.get(start..self.end).unwrap_or("");
        let line = rest.lines().next().unwrap_or("").trim_end();
        format!("'{}'", line.chars().take(60).collect::<String>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(text: &str) -> Scanner<'_> {
        Scanner::new(text, 0, text.len())
    }

    #[test]
    fn test_numbers() {
        for (text, want) in [
            ("0x1F", Some(Number::Int(31, false))),
            ("0XffU", Some(Number::Int(255, true))),
            ("017", Some(Number::Int(15, false))),
            ("0b101", Some(Number::Int(5, false))),
            ("18446744073709551615", Some(Number::Int(u64::MAX.into(), false))),
            ("18446744073709551616", None),
            ("0f3F800000", Some(Number::F32(0x3f80_0000))),
            ("0f3F80000", None),
            ("0d3FF0000000000000", Some(Number::F64(1f64.to_bits()))),
            ("1.5", Some(Number::F64(1.5f64.to_bits()))),
            ("2e-1", Some(Number::F64(0.2f64.to_bits()))),
            ("12x", None),
            ("08", None),
        ] {
            assert_eq!(scan(text).number(), want, "{text}");
        }
    }

    #[test]
    fn test_words_skip_comments() {
        let mut s = scan("/* a */ %r1 // b\n.shared::cta.b32 _ $L_1:");
        assert_eq!(s.word(), Some("%r1"));
        assert_eq!(s.dotted(), Some("shared::cta"));
        assert_eq!(s.dotted(), Some("b32"));
        assert_eq!(s.word(), Some("_"));
        assert_eq!(s.word(), Some("$L_1"));
        assert!(s.eat(b':'));
        assert!(s.at_end());
    }

    #[test]
    fn test_blocks_ignore_braces_in_strings_and_comments() {
        let text = "{ a { \"}\" } // }\n } b";
        let mut s = scan(text);
        let inner = s.block(4).unwrap();
        assert_eq!(&text[inner], " a { \"}\" } // }\n ");
        assert_eq!(s.word(), Some("b"));
        assert!(scan("{{{").block(4).is_none());
        assert!(scan("{{}}").block(1).is_none());
    }
}
