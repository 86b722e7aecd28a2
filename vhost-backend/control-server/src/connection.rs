//! Accepts connections and limits their number and the time that a client may take to send a
//! request and to read the response.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::Router;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::sync::Semaphore;
use tokio::time::{Instant, Sleep};

/// Maximum number of connections at once per listener. Excess connections get a 503 response.
const MAX_CONNECTIONS: usize = 128;
/// Maximum time for a client to send request headers. Idle connections are closed after the same
/// time.
const HEAD_PATIENCE: Duration = Duration::from_secs(10);
/// Maximum time for which a client may leave a response or event unread.
const WRITE_PATIENCE: Duration = Duration::from_secs(10);
/// Maximum size of request headers, and the size of the response buffer.
const MAX_BUFFER: usize = 64 << 10;
const MAX_HEADERS: usize = 64;

const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\n\
    content-length: 80\r\nconnection: close\r\n\r\n\
    {\"code\":\"unavailable\",\"message\":\"too many connections at once: try again later\"}";

/// The ID of the user whose process has connected. `None` if it's unknown, as it is for TCP
/// connections. Each request carries it as an axum extension.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer(pub(super) Option<u32>);

/// A Unix or TCP listener.
pub(super) trait Accept {
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    fn accept(&self) -> impl Future<Output = io::Result<(Self::Stream, Peer)>> + Send;
}

impl Accept for tokio::net::UnixListener {
    type Stream = tokio::net::UnixStream;

    async fn accept(&self) -> io::Result<(Self::Stream, Peer)> {
        let (stream, _) = Self::accept(self).await?;
        let uid = stream.peer_cred().ok().map(|peer| peer.uid());
        Ok((stream, Peer(uid)))
    }
}

impl Accept for tokio::net::TcpListener {
    type Stream = tokio::net::TcpStream;

    async fn accept(&self) -> io::Result<(Self::Stream, Peer)> {
        Ok((Self::accept(self).await?.0, Peer(None)))
    }
}

/// Accepts and serves connections forever.
pub(super) async fn serve<A: Accept>(listener: A, router: Router) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let (mut stream, peer) = match listener.accept().await {
            Ok(stream) => stream,
            Err(error) => {
                // The process has probably reached its limit on open files. Wait until some have
                // been closed.
                tracing::warn!("cannot accept a control connection: {error}");
                tokio::time::sleep(Duration::from_millis(200)).await;
                continue;
            }
        };
        let Ok(place) = places.clone().try_acquire_owned() else {
            // If the socket's buffer is full, drop the rest of the response instead of waiting.
            let write = stream.write_all(FULL);
            let _ = tokio::time::timeout(Duration::ZERO, write).await;
            continue;
        };
        let router = TowerToHyperService::new(router.clone());
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(peer);
            router.call(request)
        });
        tokio::spawn(async move {
            let served = http1::Builder::new()
                .timer(TokioTimer::new())
                // Continue to serve a client that has shut down its sending side, because it may
                // still read the response. A disconnected client is detected when a write fails.
                .half_close(true)
                .header_read_timeout(HEAD_PATIENCE)
                .max_headers(MAX_HEADERS)
                .max_buf_size(MAX_BUFFER)
                .serve_connection(TokioIo::new(Patient::new(stream)), service)
                .await;
            if let Err(error) = served {
                tracing::debug!("a control connection ended: {error}");
            }
            drop(place);
        });
    }
}

/// A stream whose writes fail if the client doesn't read for [`WRITE_PATIENCE`].
struct Patient<S> {
    stream: S,
    /// Deadline of the pending write, if any.
    limit: Option<Pin<Box<Sleep>>>,
}

impl<S> Patient<S> {
    fn new(stream: S) -> Self {
        Self { stream, limit: None }
    }

    fn watch<T>(
        &mut self,
        cx: &mut Context<'_>,
        write: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if write.is_ready() {
            self.limit = None;
            return write;
        }
        let limit = self.limit.get_or_insert_with(|| {
            Box::pin(tokio::time::sleep_until(Instant::now() + WRITE_PATIENCE))
        });
        ready!(limit.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.watch(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bytes);
        self.watch(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        self.watch(cx, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_refusal_of_a_connection_is_a_valid_response() {
        let text = std::str::from_utf8(FULL).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("content-length: {}\r\n", body.len())), "{}", body.len());
        let error: super::super::model::ApiError = serde_json::from_str(body).unwrap();
        assert_eq!(error.code, super::super::model::ErrorCode::Unavailable);
    }

    #[tokio::test(start_paused = true)]
    async fn writes_to_a_client_that_never_reads_time_out() {
        let (_silent, stream) = tokio::io::duplex(16);
        let mut stream = Patient::new(stream);
        let error = stream.write_all(&[0; 64]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
