//! Notifies systemd when a service is ready, that it is alive, and when it stops (see
//! `sd_notify(3)`).

use std::ffi::OsStr;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::{Duration, Instant};

use super::gate;

/// The notification socket, if systemd started this process, and the watchdog's time limit, if it
/// is on.
pub struct Systemd {
    socket: Option<(UnixDatagram, SocketAddr)>,
    watchdog: Option<Duration>,
    /// Time at which `take_ping_due` last returned true.
    pinged: Instant,
}

impl Systemd {
    /// Reads the environment variables NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID.
    pub fn from_env() -> Self {
        let number = |name: &str| std::env::var(name).ok()?.parse::<u64>().ok();
        let ours = number("WATCHDOG_PID").is_none_or(|pid| pid == u64::from(std::process::id()));
        let watchdog = number("WATCHDOG_USEC").filter(|usec| ours && *usec > 0);
        let socket = std::env::var_os("NOTIFY_SOCKET");
        Self::new(socket.as_deref(), watchdog.map(Duration::from_micros))
    }

    fn new(name: Option<&OsStr>, watchdog: Option<Duration>) -> Self {
        let socket = name.and_then(|name| {
            let address = match name.as_bytes() {
                [b'@', name @ ..] => SocketAddr::from_abstract_name(name),
                _ => SocketAddr::from_pathname(name),
            };
            let socket = UnixDatagram::unbound().and_then(|socket| {
                socket.set_nonblocking(true)?;
                Ok((socket, address?))
            });
            socket.inspect_err(|error| tracing::warn!("cannot notify systemd: {error}")).ok()
        });
        Self { socket, watchdog, pinged: Instant::now() }
    }

    /// Returns the interval at which the watchdog must be pinged, or `None` if it is off.
    pub fn interval(&self) -> Option<Duration> {
        // Ping three times within the watchdog's time limit, so that a late ping doesn't exceed the
        // limit.
        self.watchdog.filter(|_| self.socket.is_some()).map(|limit| limit / 3)
    }

    /// Returns true if a ping is due. If so, restarts the interval until the next ping is due.
    pub fn take_ping_due(&mut self) -> bool {
        let due = self.interval().is_some_and(|interval| self.pinged.elapsed() >= interval / 2);
        if due {
            self.pinged = Instant::now();
        }
        due
    }

    /// Reports that the service is ready, and sends `status`, a description of its state in one
    /// line.
    pub fn ready(&self, status: &str) {
        self.send(&format!("READY=1\nSTATUS={}", status.replace('\n', " ")));
    }

    /// Reports that the configuration is being read again. Call [`Self::ready`] when that has
    /// finished.
    pub fn reloading(&self) {
        self.send(&format!("RELOADING=1\nMONOTONIC_USEC={}", gate::now() / 1000));
    }

    /// Reports that the service is alive, if the watchdog is on.
    pub fn ping_watchdog(&self) {
        if self.watchdog.is_some() {
            self.send("WATCHDOG=1");
        }
    }

    /// Reports that the service is ending.
    pub fn stopping(&self) {
        self.send("STOPPING=1");
    }

    fn send(&self, message: &str) {
        let Some((socket, address)) = &self.socket else { return };
        if let Err(error) = socket.send_to_addr(message.as_bytes(), address) {
            tracing::debug!("cannot send to systemd: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systemd_is_notified_of_start_life_and_end() {
        let name = format!("virtio-cuda-notify-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let socket = UnixDatagram::bind_addr(&address).unwrap();
        let at = format!("@{name}");
        let systemd = Systemd::new(Some(OsStr::new(&at)), Some(Duration::from_secs(3)));
        assert_eq!(systemd.interval(), Some(Duration::from_secs(1)));
        systemd.ready("serving");
        systemd.reloading();
        systemd.ping_watchdog();
        systemd.stopping();
        let received = || {
            let mut buffer = [0; 64];
            let len = socket.recv(&mut buffer).unwrap();
            String::from_utf8_lossy(&buffer[..len]).into_owned()
        };
        assert!(received().starts_with("READY=1\n"));
        assert!(received().starts_with("RELOADING=1\nMONOTONIC_USEC="));
        assert_eq!((received(), received()), ("WATCHDOG=1".into(), "STOPPING=1".into()));
    }

    #[test]
    fn without_systemd_nothing_is_sent() {
        let systemd = Systemd::new(None, Some(Duration::from_secs(3)));
        assert_eq!(systemd.interval(), None);
        systemd.ready("serving");
    }
}
