//! Reports to the worker that a thread exits, so that the worker can give the thread's default
//! streams to other threads.

use crate::capture;
use crate::driver::{driver, reports_threads};
use crate::thread;
use cuda_api::graph::capturing;
use cuda_api::thread_end::call_at_thread_end;
use protocol::calls::VcudaThreadEnd;
use protocol::ids::StreamId;

/// Makes all threads report their exit.
pub fn begin() {
    call_at_thread_end(report);
}

/// Reports the exit of this thread. Never waits for the worker, because the worker may be waiting
/// for a host function that waits for this thread.
fn report() {
    capturing::thread_ended();
    capture::thread_ended();
    if let Ok(driver) = driver()
        && reports_threads()
    {
        let call = VcudaThreadEnd { h_stream: StreamId::PER_THREAD };
        let mut contexts = thread::take_default_streams().peekable();
        if contexts.peek().is_none() {
            driver.session.post_or_drop(&call);
        }
        for context in contexts {
            thread::within(context, || driver.session.post_or_drop(&call));
        }
    }
    thread::end();
}
