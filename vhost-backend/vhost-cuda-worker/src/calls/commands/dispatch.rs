//! Types and functions for the generated dispatch, which finds the implementation of each call.

use std::cell::RefCell;

use protocol::codec::{Call, Writer};

use crate::calls::commands::cx::Cx;
use crate::calls::commands::deferred::Deferred;
use crate::calls::commands::result::number;
use crate::calls::gate::limit_access;
use crate::calls::gate::pass::Pass;
use crate::calls::{Command, ReplyTo};
use crate::driver::{CuError, CuResult};

/// The implementation of a call: decodes the arguments, calls the driver, and encodes the outputs.
type Body = fn(&Cx<'_>, &[u8], &mut Writer) -> CuResult;

/// The implementation of a gated call. In addition to the arguments of a [`Body`], it takes a pass
/// from the gate, which it needs to submit GPU work.
type GatedBody = fn(&Cx<'_>, &[u8], &Pass, &mut Writer) -> CuResult;

thread_local! {
    static ANSWER: RefCell<Writer> = const { RefCell::new(Writer::new()) };
}

/// Decodes the arguments of a call. Malformed arguments result in CUDA_ERROR_INVALID_VALUE.
pub(in crate::calls) fn decode<'a, C: Call<'a>>(args: &'a [u8]) -> CuResult<C> {
    C::decode(args).map_err(|_| CuError::INVALID_VALUE)
}

fn answer(reply: ReplyTo, body: impl FnOnce(&mut Writer) -> CuResult) {
    ANSWER.with_borrow_mut(|writer| {
        writer.clear();
        let result = body(writer);
        reply.finish(number(result), writer.as_bytes());
    });
}

/// Runs the implementation of a call on the current thread, which is the ring reader's, and
/// replies.
pub(in crate::calls) fn inline(
    deferred: &mut Deferred,
    command: &Command<'_>,
    reply: ReplyTo,
    body: Body,
) {
    let cx = Cx { shared: deferred.shared(), thread: command.thread, ctx: command.ctx };
    answer(reply, |out| body(&cx, command.args, out));
}

/// Runs the implementation of a gated call on the current thread, which is the ring reader's, and
/// replies.
pub(in crate::calls) fn gated(
    deferred: &mut Deferred,
    command: &Command<'_>,
    pass: &Pass,
    reply: ReplyTo,
    body: GatedBody,
) {
    let cx = Cx { shared: deferred.shared(), thread: command.thread, ctx: command.ctx };
    answer(reply, |out| body(&cx, command.args, pass, out));
}

/// Runs the implementation of a call on the mirror of the guest thread, because it may block.
pub(in crate::calls) fn blocking(
    deferred: &mut Deferred,
    command: &Command<'_>,
    reply: ReplyTo,
    body: Body,
) {
    let args = command.args.to_vec();
    let limits = match limit_access(command.opcode) {
        None => None,
        Some(access) => match deferred.shared().limit_calls.begin(command.ctx, access) {
            None => return reply.finish(CuError::INVALID_VALUE.0, &[]),
            begun => begun,
        },
    };
    deferred.on_mirror(command.thread, command.ctx, reply, move |cx, reply| {
        let _at_work = cx.shared.uses.begin_on_mirror(cx.ctx);
        answer(reply, |out| {
            let result = body(cx, &args, out);
            // End the call's use of the context's limits before sending the reply, so that the
            // limits are free when the guest makes its next call.
            drop(limits);
            result
        });
    });
}

/// Runs, on the ring reader's thread, the implementation of a call that sends its reply itself, now
/// or later.
pub(in crate::calls) fn pending<'a, C: Call<'a>>(
    deferred: &mut Deferred,
    command: &Command<'a>,
    reply: ReplyTo,
    body: impl FnOnce(&mut Deferred, &Cx<'_>, C, ReplyTo),
) {
    let shared = deferred.shared().clone();
    let cx = Cx { shared: &shared, thread: command.thread, ctx: command.ctx };
    match decode(command.args) {
        Ok(call) => body(deferred, &cx, call, reply),
        Err(error) => reply.finish(error.0, &[]),
    }
}

/// Replies to a command whose opcode isn't in the API table.
#[cold]
pub(in crate::calls) fn unknown(command: &Command<'_>, reply: ReplyTo) {
    tracing::debug!("unknown call number {}", command.opcode);
    reply.finish(CuError::NOT_SUPPORTED.0, &[]);
}
