//! What systemd is told: that the broker is ready, that it lives, that it ends (`sd_notify(3)`).

use std::ffi::OsStr;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

/// The socket on which it listens, if this process is a service of it.
pub(super) struct Notify {
    socket: Option<(UnixDatagram, SocketAddr)>,
    watchdog: Option<Duration>,
}

impl Notify {
    /// As the environment says.
    pub(super) fn from_env() -> Self {
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
            socket.inspect_err(|error| tracing::warn!("cannot tell systemd: {error}")).ok()
        });
        Self { socket, watchdog }
    }

    /// How often [`Self::alive`] is to be called.
    pub(super) fn interval(&self) -> Option<Duration> {
        // Three times within the bound, so that one may come late.
        self.watchdog.filter(|_| self.socket.is_some()).map(|bound| bound / 3)
    }

    pub(super) fn ready(&self) {
        self.say("READY=1\nSTATUS=serving");
    }

    pub(super) fn alive(&self) {
        if self.watchdog.is_some() {
            self.say("WATCHDOG=1");
        }
    }

    pub(super) fn stopping(&self) {
        self.say("STOPPING=1");
    }

    fn say(&self, what: &str) {
        let Some((socket, address)) = &self.socket else { return };
        if let Err(error) = socket.send_to_addr(what.as_bytes(), address) {
            tracing::debug!("systemd does not listen: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systemd_hears_of_the_start_the_life_and_the_end() {
        let name = format!("virtio-cuda-notify-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let systemd = UnixDatagram::bind_addr(&address).unwrap();
        let at = format!("@{name}");
        let notify = Notify::new(Some(OsStr::new(&at)), Some(Duration::from_secs(3)));
        assert_eq!(notify.interval(), Some(Duration::from_secs(1)));
        notify.ready();
        notify.alive();
        notify.stopping();
        let heard = || {
            let mut buffer = [0; 64];
            let len = systemd.recv(&mut buffer).unwrap();
            String::from_utf8_lossy(&buffer[..len]).into_owned()
        };
        assert!(heard().starts_with("READY=1\n"));
        assert_eq!((heard(), heard()), ("WATCHDOG=1".into(), "STOPPING=1".into()));
    }

    #[test]
    fn without_systemd_nothing_is_said() {
        let notify = Notify::new(None, Some(Duration::from_secs(3)));
        assert_eq!(notify.interval(), None);
        notify.ready();
    }
}
