//! Functions that CUDA provides in device code, such as `malloc` and `printf`.

use super::block_state::BlockState;
use super::memory::Fault;
use super::printf;
use super::warp::{Group, Warp};
use crate::ptx::ir::{Builtin, Call, Space};

/// Maximum length of a string read from a kernel's memory.
const LONGEST_STRING: u64 = 16384;

impl Warp {
    pub(crate) fn builtin(
        &mut self,
        block: &mut BlockState<'_>,
        group: &Group,
        builtin: Builtin,
        call: &Call,
    ) -> Result<(), Fault> {
        let mut rest = group.mask;
        while rest != 0 {
            let lane = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let arg = |n: usize| call.args.get(n).map_or(0, |p| self.value(group, *p, lane));
            let (a, b, c, d) = (arg(0), arg(1), arg(2), arg(3));
            let result = match builtin {
                Builtin::Vprintf => self.vprintf(block, lane, a, b)?,
                Builtin::Malloc => block.launch.heap.allocate(a),
                Builtin::Free => {
                    if !block.launch.heap.release(a) {
                        return Err(Fault::LaunchFailed);
                    }
                    0
                }
                Builtin::Assertfail => {
                    return Err(self.assert(block, group, lane, [a, b, c, d]));
                }
            };
            if let Some(place) = call.results.first() {
                self.place(group, *place, lane, result);
            }
        }
        Ok(())
    }

    fn string(
        &mut self,
        block: &mut BlockState<'_>,
        lane: usize,
        address: u64,
    ) -> Result<Vec<u8>, Fault> {
        let mut text = Vec::new();
        for at in 0..LONGEST_STRING {
            match self.read(block, Space::Generic, address.wrapping_add(at), 1, lane)? as u8 {
                0 => break,
                byte => text.push(byte),
            }
        }
        Ok(text)
    }

    fn vprintf(
        &mut self,
        block: &mut BlockState<'_>,
        lane: usize,
        format: u64,
        args: u64,
    ) -> Result<u64, Fault> {
        let format = self.string(block, lane, format)?;
        let mut at = args;
        let cell = std::cell::RefCell::new((self, block));
        let (text, count) = printf::format(
            &format,
            |size| {
                let (warp, block) = &mut *cell.borrow_mut();
                at = at.next_multiple_of(size);
                let value = warp.read(block, Space::Generic, at, size as u8, lane)?;
                at += size;
                Ok(value)
            },
            |address| {
                let (warp, block) = &mut *cell.borrow_mut();
                if address == 0 {
                    return Ok(b"(null)".to_vec());
                }
                warp.string(block, lane, address)
            },
        )?;
        let (_, block) = cell.into_inner();
        let kept = block.launch.printf.push(&text);
        Ok(if kept { u64::from(count as u32) } else { 0xffff_ffff })
    }

    /// Reports a failed assertion on standard error, in the CUDA driver's format.
    fn assert(
        &mut self,
        block: &mut BlockState<'_>,
        group: &Group,
        lane: usize,
        [message, file, line, function]: [u64; 4],
    ) -> Fault {
        let mut text = |address| {
            let bytes = self.string(block, lane, address).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let (message, file, function) = (text(message), text(file), text(function));
        let thread = self.index * 32 + lane as u32;
        let [x, y, _] = block.launch.block;
        let [bx, by, bz] = block.index;
        let _ = group;
        eprintln!(
            "{file}:{}: {function}: block: [{bx},{by},{bz}], thread: [{},{},{}] Assertion `{message}` failed.",
            line as u32,
            thread % x,
            thread / x % y,
            thread / x / y,
        );
        Fault::Assert
    }
}
