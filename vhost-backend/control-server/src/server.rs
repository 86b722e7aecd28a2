//! The control API's server thread and sockets.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::oneshot;

use super::handle::ControlHandle;
use super::{connection, openapi, table};

/// Maximum time to send the last replies when the API is stopped.
const LAST_REPLIES: Duration = Duration::from_secs(1);

/// The sockets on which the control API listens.
#[derive(Debug, Default)]
pub struct ServerConfig {
    /// The control socket. Its permissions are the only access control.
    pub socket: Option<UnixListener>,
    /// The read socket, which answers only requests that change nothing. Its permissions are the
    /// only access control, too.
    pub read: Option<UnixListener>,
    /// A loopback address on which the server also serves `/metrics`.
    pub metrics_address: Option<SocketAddr>,
}

/// The reason why the control API can't be served.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// The metrics address isn't a loopback address.
    #[error(
        "metrics_address {0} is not a loopback address: use one such as 127.0.0.1:9400. To serve \
         other hosts, put a proxy with authentication in front of it"
    )]
    NotLoopback(SocketAddr),
    /// The server can't listen on the address.
    #[error("metrics_address {address}: cannot listen: {source}")]
    Address {
        /// The address from the configuration.
        address: SocketAddr,
        /// The error of the system call.
        source: io::Error,
    },
    /// A system call failed.
    #[error("cannot start the control API: {0}")]
    Os(#[from] io::Error),
}

/// The running control API. Dropping it stops the API and closes its sockets. Requests that the
/// broker has already answered still get their replies.
#[derive(Debug)]
pub struct Server {
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    metrics_address: Option<SocketAddr>,
}

impl Server {
    /// Returns the address on which `/metrics` is served. If port 0 was configured, the address
    /// contains the port that the kernel chose.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics_address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Starts the server thread.
pub fn start(config: ServerConfig, handle: ControlHandle) -> Result<Server, ControlError> {
    let metrics = config.metrics_address.map(listen).transpose()?;
    let metrics_address = metrics.as_ref().map(TcpListener::local_addr).transpose()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let path = config.socket.as_ref().and_then(|socket| socket.local_addr().ok());
    let path = path.and_then(|address| address.as_pathname().map(Path::to_owned));
    let unix = |listener: UnixListener| -> io::Result<_> {
        listener.set_nonblocking(true)?;
        let _in = runtime.enter();
        tokio::net::UnixListener::from_std(listener)
    };
    let control = config.socket.map(unix).transpose()?;
    let read = config.read.map(unix).transpose()?;
    let metrics = metrics
        .map(|listener| -> io::Result<_> {
            listener.set_nonblocking(true)?;
            let _in = runtime.enter();
            tokio::net::TcpListener::from_std(listener)
        })
        .transpose()?;
    let (end, ended) = oneshot::channel();
    let last = handle.clone();
    let thread = std::thread::Builder::new().name("control".into()).spawn(move || {
        runtime.block_on(async move {
            if let Some(listener) = control {
                let routes = table::control(handle.clone(), openapi::json());
                tokio::spawn(connection::serve(listener, routes));
            }
            if let Some(listener) = read {
                let routes = table::read(handle.clone(), openapi::json(), path);
                tokio::spawn(connection::serve(listener, routes));
            }
            if let Some(listener) = metrics {
                tokio::spawn(connection::serve(listener, table::metrics_only(handle)));
            }
            // The wait ends when the `Server` is dropped, because that drops the sender.
            let _: Result<(), _> = ended.await;
            // Wait until all requests that the broker has answered have sent their replies. When
            // this task ends, the runtime is dropped, which closes all connections.
            let _ = tokio::time::timeout(LAST_REPLIES, last.wait_for_idle()).await;
        });
    })?;
    Ok(Server { end: Some(end), thread: Some(thread), metrics_address })
}

fn listen(address: SocketAddr) -> Result<TcpListener, ControlError> {
    if !address.ip().is_loopback() {
        return Err(ControlError::NotLoopback(address));
    }
    TcpListener::bind(address).map_err(|source| ControlError::Address { address, source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_served_only_on_loopback_addresses() {
        for address in ["0.0.0.0:9400", "192.168.1.1:9400", "[::]:9400"] {
            let refused = listen(address.parse().unwrap()).unwrap_err();
            assert!(refused.to_string().contains("loopback"), "{refused}");
        }
        listen("127.0.0.1:0".parse().unwrap()).unwrap();
    }
}
