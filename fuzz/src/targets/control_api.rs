//! Sends bytes to the control API's server. The server must answer or close the connection, and
//! must never panic or hang.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::OnceLock;
use std::time::Duration;

use crate::input::Input;
use fake::Fake;

#[allow(dead_code, reason = "the server's own tests use the rest")]
#[path = "../../../vhost-backend/control-server/tests/control/fake.rs"]
mod fake;

/// The server, which runs until the process ends.
static SERVER: OnceLock<Fake> = OnceLock::new();

const METHODS: &[&str] = &["GET", "POST", "PATCH", "DELETE", "PUT", "HEAD", "OPTIONS"];
const PATHS: &[&str] = &[
    "/v1/vms",
    "/v1/vms/a",
    "/v1/vms/a/sessions/1",
    "/v1/sessions",
    "/v1/vms/a/sessions",
    "/v1/sessions?vm=a",
    "/v1/gpus",
    "/v1/stats",
    "/v1/version",
    "/v1/events",
    "/openapi.json",
    "/v1/health",
    "/metrics",
    "/v1/vms/%00",
    "/v1/vms/../..",
    "/v1/vms/a/restore",
    "/v1/usage?since_ms=0",
];
const BODIES: &[&str] = &[
    "",
    "{}",
    r#"{"name": "a", "memory": {"max": 1073741824}}"#,
    r#"{"name": "a", "memory": {"max": "1G"}, "compute": {"weight": 100, "max": "50%"}}"#,
    r#"{"memory": {"max": "2G"}}"#,
    r#"{"compute": {"max": null}}"#,
    r#"{"name": "a", "env": {"allow": ["CUDA_CACHE_PATH"]}, "sessions": {"max": 1}}"#,
];

pub fn prepare() {
    SERVER.get_or_init(Fake::start);
}

/// Builds a request, most of whose parts are valid.
fn request(input: &mut Input<'_>) -> Vec<u8> {
    let (method, path) = (input.pick(METHODS), input.pick(PATHS));
    let mut body = input.pick(BODIES).as_bytes().to_vec();
    for _ in 0..input.below(4) {
        let at = input.below(body.len() + 1);
        let end = (at + input.below(4)).min(body.len());
        body.splice(at..end, input.bytes(8).to_vec());
    }
    let len = if input.one_in(16) { input.long() as usize } else { body.len() };
    let more =
        input.pick(&["", "", "", "expect: 100-continue\r\n", "transfer-encoding: chunked\r\n"]);
    let head =
        format!("{method} {path} HTTP/1.1\r\nhost: x\r\n{more}content-length: {len}\r\n\r\n");
    [head.as_bytes(), &body].concat()
}

/// Runs the target. The first byte determines whether the other bytes are sent unchanged, or
/// requests are built from them.
pub fn run(bytes: &[u8]) {
    let Some(server) = SERVER.get() else { return };
    let mut input = Input::new(bytes);
    let sent = if input.byte() % 4 == 1 {
        input.rest().to_vec()
    } else {
        (0..=input.below(3)).flat_map(|_| request(&mut input)).collect()
    };
    let mut stream = UnixStream::connect(&server.socket).expect("the server accepts connections");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout can be set");
    let _ = stream.write_all(&sent);
    let _ = stream.shutdown(std::net::Shutdown::Write);
    check(&mut stream, &sent);
}

fn check(stream: &mut UnixStream, sent: &[u8]) {
    let mut text = Vec::new();
    let mut part = [0; 4096];
    loop {
        match stream.read(&mut part) {
            Ok(0) => break,
            Ok(count) => text.extend(&part[..count]),
            // A signal of libFuzzer's timer interrupted the read.
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => break,
            Err(error) => {
                panic!("no answer and no end: {error}: {:?}", String::from_utf8_lossy(sent))
            }
        }
        // Stop reading at a stream of events, because it doesn't end.
        if text.windows(EVENTS.len()).any(|at| at == EVENTS) {
            break;
        }
    }
    let failed = text.starts_with(b"HTTP/1.1 500");
    let known = text.is_empty() || text.starts_with(b"HTTP/1.");
    let said = || String::from_utf8_lossy(&text);
    assert!(known && !failed, "{:?} answered {:?}", String::from_utf8_lossy(sent), said());
}

/// The content type in the head of a response that streams events.
const EVENTS: &[u8] = b"application/x-ndjson";
