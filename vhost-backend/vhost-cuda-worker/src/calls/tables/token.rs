//! Names of exported memory and events.

use host_ipc::messages::Token;

use crate::driver::{CuError, CuResult};

/// Returns a random token, which no other guest process can guess.
pub(in crate::calls) fn new_token() -> CuResult<Token> {
    let mut token: Token = [0; 4];
    let len = size_of_val(&token);
    // SAFETY: the pointer and the length are those of a local array.
    let filled = unsafe { libc::getrandom(token.as_mut_ptr().cast(), len, 0) };
    // Linux never returns fewer random bytes than requested if so few are requested.
    if filled == len as isize { Ok(token) } else { Err(CuError::OPERATING_SYSTEM) }
}
