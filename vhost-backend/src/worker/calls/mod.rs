//! The body of each call: handle tables, and what the generated dispatch needs.

use std::path::Path;

use super::driver::Driver;
use super::executor::{Command, Engine, EngineError, Executor, Session};
use super::reply::ReplyTo;

const CUDA_ERROR_NOT_SUPPORTED: u32 = 801;

/// Loads a driver library and makes it warm.
pub fn open(library: &Path) -> Result<Box<dyn Engine>, EngineError> {
    let driver = Driver::open(library)?;
    Ok(Box::new(Warm { driver }))
}

struct Warm {
    driver: Driver,
}

impl Engine for Warm {
    fn begin(self: Box<Self>, session: Session) -> Result<Box<dyn Executor>, EngineError> {
        Ok(Box::new(Calls { _driver: self.driver, session }))
    }
}

struct Calls {
    _driver: Driver,
    session: Session,
}

impl Executor for Calls {
    fn execute(&mut self, command: &Command<'_>, reply: ReplyTo) {
        tracing::warn!(session = self.session.label, "no call has number {}", command.opcode);
        reply.finish(CUDA_ERROR_NOT_SUPPORTED, &[]);
    }
}
