//! Host functions that streams of the worker's have come to. They go beside the ring, which may be
//! full of what waits for them, and while another thread waits for room there.

use super::Session;
use protocol::host_func::Callee;

impl Session {
    /// Waits for one host function after another, by its token, and has it run; returns when the
    /// session ends. For one thread, once in a session.
    pub fn serve_host_funcs(&self, mut run: impl FnMut(u64)) {
        let mut callee = Callee::new(self.shared);
        while let Ok(token) = self.wait_for("a host function", || callee.next()) {
            run(token);
            if callee.end()
                && let Err(error) = self.transport.kick()
            {
                self.end(&error);
                return;
            }
        }
    }
}
