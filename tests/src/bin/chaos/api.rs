//! A client of the control API.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::UnixStream;
use tokio::runtime::Runtime;

/// Maximum time within which vcudad must respond, even if it is busy.
pub const LIMIT: Duration = Duration::from_secs(60);

pub struct Client {
    socket: PathBuf,
    runtime: Runtime,
    /// The longest time that a response has taken so far.
    pub worst: Duration,
}

/// An HTTP status and a response body.
pub struct Answer {
    pub status: u16,
    pub body: Value,
}

impl Client {
    pub fn new(socket: &Path) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("a runtime needs only a few descriptors");
        Self { socket: socket.to_owned(), runtime, worst: Duration::ZERO }
    }

    /// Sends a request. Fails if there is no response within [`LIMIT`].
    pub fn ask(
        &mut self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Answer, String> {
        let start = Instant::now();
        let said = format!("{method} {path}");
        let socket = &self.socket;
        let asked = self.runtime.block_on(async {
            let sent = exchange(socket, method, path, body);
            tokio::time::timeout(LIMIT, sent).await
        });
        self.worst = self.worst.max(start.elapsed());
        match asked {
            Err(_) => Err(format!("{said}: no response within {} s", LIMIT.as_secs())),
            Ok(Err(error)) => Err(format!("{said}: {error}")),
            Ok(Ok(answer)) => Ok(answer),
        }
    }

    /// Reads a resource with a GET request.
    pub fn get(&mut self, path: &str) -> Result<Value, String> {
        let answer = self.ask(Method::GET, path, None)?;
        if answer.status == 200 {
            return Ok(answer.body);
        }
        Err(format!("GET {path}: HTTP {}: {}", answer.status, answer.body))
    }
}

async fn exchange(
    socket: &Path,
    method: Method,
    path: &str,
    body: Option<&Value>,
) -> Result<Answer, Box<dyn std::error::Error>> {
    let stream = TokioIo::new(UnixStream::connect(socket).await?);
    let (mut sender, connection) = http1::handshake(stream).await?;
    tokio::spawn(connection);
    let body = body.map(ToString::to_string).unwrap_or_default();
    let request = Request::builder().method(method).uri(path).header("host", "vcudad");
    let request = request.header("content-type", "application/json");
    let answer = sender.send_request(request.body(Full::new(Bytes::from(body)))?).await?;
    let status = answer.status().as_u16();
    let bytes = answer.into_body().collect().await?.to_bytes();
    let body = if bytes.is_empty() { Value::Null } else { serde_json::from_slice(&bytes)? };
    Ok(Answer { status, body })
}
