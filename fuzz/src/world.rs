//! Generates the arguments of calls: ids of objects, addresses, and numbers.

use protocol::ids::FIRST_ID;
use protocol::windows::{DEVICE, PINNED};

use crate::input::Input;

/// The input and the addresses from which calls are generated.
pub struct World<'a> {
    /// The fuzzer's bytes.
    pub input: Input<'a>,
    /// Addresses that calls have returned, and addresses of registered memory.
    pub addresses: Vec<u64>,
}

/// A type whose values can be generated as arguments.
pub trait Generate {
    /// Generates a value for the argument with this name.
    fn generate(world: &mut World<'_>, name: &str) -> Self;
}

impl World<'_> {
    /// Generates an argument.
    pub fn make<T: Generate>(&mut self, name: &str) -> T {
        T::generate(self, name)
    }

    /// Returns an address, usually near one in `addresses`.
    pub fn address(&mut self) -> u64 {
        let offset = self.input.pick(&[0, 0, 0, 4, 8, 1, 256, 4096, 0x20_0000, u64::MAX]);
        let base = match self.input.below(8) {
            0 => self.input.pick(&[0, PINNED.start, DEVICE.start, DEVICE.end, 0x10000]),
            _ => self.input.pick(&self.addresses),
        };
        base.wrapping_add(offset)
    }

    /// Returns a size in bytes.
    pub fn size(&mut self) -> u64 {
        match self.input.below(16) {
            0 => self.input.long(),
            1 => u64::MAX - u64::from(self.input.byte()),
            _ => self.input.pick(&[
                0,
                1,
                2,
                3,
                4,
                8,
                16,
                64,
                256,
                4096,
                65536,
                1 << 20,
                1 << 21,
                5 << 20,
            ]),
        }
    }

    /// Returns a number, most likely a small one.
    pub fn small(&mut self) -> u64 {
        match self.input.below(16) {
            0 => self.input.long(),
            1 => self.input.number().into(),
            2 => self.input.byte().into(),
            _ => self.input.pick(&[0, 0, 0, 1, 1, 2, 3, 4, 7, 8, 16, 32]),
        }
    }

    /// Returns an id that the guest may have chosen.
    pub fn id(&mut self) -> u64 {
        match self.input.below(16) {
            0 => self.input.pick(&[0, 0, 1, 2, 3, 15, u64::MAX]),
            _ => FIRST_ID + self.input.below(8) as u64,
        }
    }

    /// Returns a number for the argument with this name.
    pub fn word(&mut self, name: &str) -> u64 {
        let is = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
        if is(&["ptr", "addr", "dst", "src", "start", "arena"]) {
            self.address()
        } else if is(&[
            "size", "len", "bytes", "count", "width", "height", "depth", "pitch", "value", "word",
        ]) {
            self.size()
        } else {
            self.small()
        }
    }
}
