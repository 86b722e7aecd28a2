//! The client side of HTTP over vcudad's Unix socket. Each request opens a new connection, which is
//! cheap on a Unix socket.

use std::io::ErrorKind;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use control_api::ApiError;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::net::UnixStream;

use crate::error::CtlError;
use crate::stopped::stopped_vcudad;

/// Maximum time to wait for a response. vcudad usually responds in milliseconds, and gives up after
/// 10 s.
const TIMEOUT: Duration = Duration::from_secs(15);
/// How long to wait for a response before checking whether the vcudad process is stopped.
const PROMPT: Duration = Duration::from_millis(300);
/// Maximum size of a response, in bytes.
const MAX_ANSWER: usize = 64 << 20;
/// Maximum size of one line in a stream, in bytes.
const MAX_LINE: usize = 1 << 20;

/// Name of the read-only socket, which is in the same directory as the control socket.
const READ_SOCKET: &str = "read.sock";

/// A client of vcudad's control API.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    socket: PathBuf,
}

impl Client {
    pub(crate) fn new(socket: &Path) -> Self {
        Self { socket: socket.to_owned() }
    }

    fn broken(&self, reason: impl std::fmt::Display) -> CtlError {
        CtlError::Connection { path: self.socket.clone(), reason: reason.to_string() }
    }

    /// Connects to the control socket. If the user has no permission for that and the request only
    /// reads, connects to the read socket.
    async fn connect(&self, only_reads: bool) -> Result<UnixStream, CtlError> {
        let read = self.socket.with_file_name(READ_SOCKET);
        let refused = match UnixStream::connect(&self.socket).await {
            Err(error) if error.kind() == ErrorKind::PermissionDenied && only_reads => {
                match UnixStream::connect(&read).await {
                    Ok(stream) => return Ok(stream),
                    Err(_) => Err(error),
                }
            }
            connected => connected,
        };
        let path = || self.socket.clone();
        refused.map_err(|error| match error.kind() {
            ErrorKind::NotFound => CtlError::NoSocket(path()),
            // connect() returns this error also for files that aren't sockets.
            ErrorKind::ConnectionRefused if !is_socket(&self.socket) => {
                CtlError::NotASocket(path())
            }
            ErrorKind::ConnectionRefused => CtlError::NobodyListens(path()),
            ErrorKind::PermissionDenied => {
                let readers = only_reads.then(|| group_of(&read)).flatten();
                let readers = readers.filter(|_| read.exists());
                let readers = readers.map(|name| format!("; to only read, join {name}"));
                let readers = readers.unwrap_or_default();
                match group_of(&self.socket) {
                    Some(group) => CtlError::NotAllowed { path: path(), group, readers },
                    None => CtlError::OnlyRoot(path(), readers),
                }
            }
            _ => self.broken(error),
        })
    }

    /// Returns the path of the socket that read-only requests use.
    pub(crate) async fn path_for_reading(&self) -> PathBuf {
        let stream = self.connect(true).await.ok();
        let address = stream.and_then(|stream| stream.peer_addr().ok());
        let path = address.and_then(|address| address.as_pathname().map(Path::to_owned));
        path.unwrap_or_else(|| self.socket.clone())
    }

    /// Sends a request and waits for the response headers. Fails if the status isn't success.
    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<Vec<u8>>,
    ) -> Result<Response<Incoming>, CtlError> {
        let only_reads = method == Method::GET;
        let mut request = Request::builder().method(method).uri(path).header("host", "vcudad");
        if body.is_some() {
            request = request.header("content-type", "application/json");
        }
        let request = request
            .body(Full::new(Bytes::from(body.unwrap_or_default())))
            .map_err(|error| self.broken(error))?;
        let stream = self.connect(only_reads).await?;
        let listener = stream.peer_cred().ok().and_then(|peer| peer.pid()).map(i32::unsigned_abs);
        let asked = async {
            let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
            tokio::spawn(connection);
            sender.send_request(request).await
        };
        let mut asked = std::pin::pin!(asked);
        let mut answer = tokio::time::timeout(PROMPT, asked.as_mut()).await;
        if answer.is_err() {
            if let Some(pid) = listener.and_then(|id| stopped_vcudad(Path::new("/proc"), id)) {
                return Err(CtlError::Stopped(pid));
            }
            answer = tokio::time::timeout(TIMEOUT, asked).await;
        }
        let answer = answer.map_err(|_| {
            let secs = TIMEOUT.as_secs();
            self.broken(format!("vcudad did not respond within {secs} s; check its log"))
        })?;
        let answer = answer.map_err(|error| self.broken(error))?;
        if answer.status().is_success() {
            return Ok(answer);
        }
        let status = answer.status();
        let text = self.read(answer).await?;
        match serde_json::from_slice::<ApiError>(&text) {
            Ok(error) => Err(error.into()),
            Err(_) => Err(CtlError::Answer(format!("HTTP {status}"))),
        }
    }

    async fn read(&self, answer: Response<Incoming>) -> Result<Bytes, CtlError> {
        let body = Limited::new(answer.into_body(), MAX_ANSWER).collect();
        match tokio::time::timeout(TIMEOUT, body).await {
            Ok(Ok(body)) => Ok(body.to_bytes()),
            Ok(Err(error)) => Err(self.broken(error)),
            Err(_) => Err(self.broken("vcudad stalled in the middle of a response; check its log")),
        }
    }

    async fn value<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<Vec<u8>>,
    ) -> Result<T, CtlError> {
        let text = self.read(self.send(method, path, body).await?).await?;
        serde_json::from_slice(&text).map_err(|error| CtlError::Answer(error.to_string()))
    }

    /// Reads the resource at a path.
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, CtlError> {
        self.value(Method::GET, path, None).await
    }

    /// Creates a resource with a POST request, and returns the response.
    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, CtlError> {
        self.value(Method::POST, path, Some(to_json(body)?)).await
    }

    /// Requests an action that has no parameters, such as a pause.
    pub(crate) async fn act<T: DeserializeOwned>(&self, path: &str) -> Result<T, CtlError> {
        self.value(Method::POST, path, None).await
    }

    /// Changes a resource with a PATCH request, and returns the response.
    pub(crate) async fn patch<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, CtlError> {
        self.value(Method::PATCH, path, Some(to_json(body)?)).await
    }

    /// Removes a resource with a DELETE request.
    pub(crate) async fn delete(&self, path: &str) -> Result<(), CtlError> {
        let answer = self.send(Method::DELETE, path, None).await?;
        self.read(answer).await.map(drop)
    }

    /// Calls `each` with each line of a stream, until the stream ends. Always returns an error in
    /// the end, because vcudad never ends a stream normally.
    pub(crate) async fn stream<T: DeserializeOwned>(
        &self,
        path: &str,
        mut each: impl FnMut(&T) -> Result<(), CtlError>,
    ) -> Result<(), CtlError> {
        let mut body = self.send(Method::GET, path, None).await?.into_body();
        let mut pending = Vec::new();
        // vcudad never ends a stream normally, so if this loop ends, vcudad has closed the
        // connection.
        while let Some(Ok(frame)) = body.frame().await {
            let Ok(bytes) = frame.into_data() else { continue };
            pending.extend_from_slice(&bytes);
            while let Some(end) = pending.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = pending.drain(..=end).collect();
                if line.trim_ascii().is_empty() {
                    continue;
                }
                let value = serde_json::from_slice(&line)
                    .map_err(|error| CtlError::Answer(error.to_string()))?;
                each(&value)?;
            }
            if pending.len() > MAX_LINE {
                return Err(CtlError::Answer("a line in the stream is too long".into()));
            }
        }
        Err(self.broken("vcudad ended the stream"))
    }
}

fn to_json(body: &impl Serialize) -> Result<Vec<u8>, CtlError> {
    serde_json::to_vec(body).map_err(|error| CtlError::Answer(error.to_string()))
}

fn is_socket(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|meta| meta.file_type().is_socket())
}

/// Returns the name of a file's group, or its group ID if the group has no name. Returns `None` for
/// root's group.
fn group_of(path: &Path) -> Option<String> {
    let Ok(meta) = std::fs::metadata(path) else { return Some("virtio-cuda".into()) };
    if meta.gid() == 0 {
        return None;
    }
    let groups = std::fs::read_to_string("/etc/group").unwrap_or_default();
    let number = meta.gid().to_string();
    let name = groups.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (name, _, id) = (fields.next()?, fields.next()?, fields.next()?);
        (id == number).then(|| name.to_owned())
    });
    Some(name.unwrap_or(number))
}
