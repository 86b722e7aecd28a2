//! Remembers tensor maps that the worker has encoded, because libraries encode the same maps for
//! each launch.

use crate::error::CuResult;
use crate::remembered::Remembered;
use crate::session::Session;
use protocol::codec::{Call, Writer};

/// The maximum number of maps. Each takes about 400 bytes of memory with its arguments.
const MOST: usize = 8192;

/// The bytes of tensor maps, by the device and by the call with its encoded arguments. A map
/// depends neither on the context nor on the contents of the memory that it describes. Errors
/// aren't remembered, so that the driver reports each of them and writes it to its log.
#[derive(Default)]
pub struct TensorMaps(Remembered<(i32, u32, Vec<u8>), [u64; 16], MOST>);

impl TensorMaps {
    /// Returns the map that a call encodes on the device with this ordinal in the program. `map`
    /// extracts it from the worker's reply.
    pub fn encoded<'a, C: Call<'a>>(
        &self,
        session: &Session,
        device: i32,
        call: &C,
        map: impl FnOnce(C::Answer) -> [u64; 16],
    ) -> CuResult<[u64; 16]> {
        session.check_sticky()?;
        let mut writer = Writer::new();
        call.encode(&mut writer);
        let question = (device, C::OPCODE, writer.as_bytes().to_vec());
        if let Some(known) = self.0.get(&question) {
            return Ok(known);
        }
        let map = map(session.call(call)?);
        self.0.keep(self.0.version(), [(question, map)]);
        Ok(map)
    }
}
