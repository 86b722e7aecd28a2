//! Asks the vcudad that is running whether it could apply a file.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use crate::config::{Config, ConfigError};
use crate::error::BrokerError;
use control_api::{ApiError, ConfigCheck};

/// How long to wait for the answer. The server in the running vcudad waits less time for its event
/// loop.
const PATIENCE: Duration = Duration::from_secs(15);
/// Maximum length of an answer, in bytes.
const MAX_ANSWER: u64 = 1 << 20;

/// Asks the vcudad that has this control socket whether it could apply the file. Returns the
/// changes that it would make, or why it refuses the file. Returns `None` if no vcudad is running
/// there, or if it's an earlier version, which doesn't support the question.
pub(crate) fn ask(socket: &Path, config: &Config) -> Option<Result<String, BrokerError>> {
    let stream = UnixStream::connect(socket).ok()?;
    let (status, body) = match exchange(stream, &config.text) {
        Ok(answer) => answer,
        Err(error) => return Some(Err(BrokerError::Running(error.to_string()))),
    };
    match status {
        200 => {
            let checked = serde_json::from_slice::<ConfigCheck>(&body);
            Some(
                checked
                    .map(|check| check.summary)
                    .map_err(|error| BrokerError::Running(error.to_string())),
            )
        }
        404 | 405 => None,
        _ => {
            let error = serde_json::from_slice::<ApiError>(&body);
            let reason =
                error.map_or_else(|_| format!("status {status}"), |error| error.to_string());
            Some(Err(match (status, &config.path) {
                (422, Some(path)) => ConfigError::Parse { path: path.clone(), reason }.into(),
                _ => BrokerError::Running(reason),
            }))
        }
    }
}

/// Sends the request, and returns the status and the body of the answer.
fn exchange(mut stream: UnixStream, text: &str) -> io::Result<(u16, Vec<u8>)> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    write!(
        stream,
        "POST /v1/config/check HTTP/1.1\r\nhost: vcudad\r\nconnection: close\r\n\
         content-type: text/plain\r\ncontent-length: {}\r\n\r\n",
        text.len()
    )?;
    stream.write_all(text.as_bytes())?;
    let mut answer = Vec::new();
    stream.take(MAX_ANSWER).read_to_end(&mut answer)?;
    let wrong = || io::Error::other("it doesn't answer with HTTP");
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").ok_or_else(wrong)?;
    let head = String::from_utf8_lossy(&answer[..end]).into_owned();
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(wrong)?;
    Ok((status, answer.split_off(end + 4)))
}
