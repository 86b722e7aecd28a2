//! Runs the broker.

use std::mem::ManuallyDrop;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use event_manager::{EventManager, SubscriberOps};

use crate::config::{Config, ConfigError};
use crate::continuity::handover::{Handover, Inherited, Replacement, Successor};
use crate::continuity::journal::Handling;
use crate::error::BrokerError;
use crate::gpu::driver;
use crate::processes::privileges;
use crate::processes::spawner::Spawner;
use crate::service::{Inputs, Prepared, Service};
use crate::settings::chosen::Chosen;
use crate::settings::last_good::LastGood;
use crate::settings::reread::Reader;
use crate::settings::state::StateDir;
use crate::settings::validate::check_host;
use crate::vm::socket::ApiFiles;
use control_server::{ServerConfig, handle};
use host_ipc::process;
use host_ipc::signals::Signals;
use host_ipc::spawner::{Call, Part, Refusal};

/// Serves the VMs in the configuration file that `reader` reads until the broker receives a signal
/// that stops it. On SIGHUP, it reads the file again. On SIGUSR2, it returns the program that takes
/// over. `from` says where the broker gets its spawner. If the file has an error, but the spawner
/// has the VMs of an earlier broker, continues with the settings that were applied last.
pub fn run(reader: Reader, from: Origin) -> Result<Option<Replacement>, BrokerError> {
    let file = reader(None);
    serve(file, Some(reader), from)
}

/// Serves the VM in this configuration, which isn't in a file, until the broker receives a signal.
pub fn run_one(config: Config) -> Result<(), BrokerError> {
    serve(Ok(config), None, Origin::Own).map(drop)
}

fn serve(
    file: Result<Config, ConfigError>,
    reader: Option<Reader>,
    from: Origin,
) -> Result<Option<Replacement>, BrokerError> {
    // Block signals first, so that no signal can stop the process before it has removed its
    // sockets. Threads that start later inherit the signal mask.
    let signals = Signals::catch(&[libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGUSR2]);
    let signals = signals.map_err(BrokerError::os("cannot catch signals"))?;
    let (handle, inbox) =
        handle::channel().map_err(BrokerError::os("cannot create the control API's channel"))?;
    let successor = reader.as_ref().map(|_| Successor::find(from.program()));
    let successor = successor.transpose();
    let successor = successor.map_err(BrokerError::os("cannot find the path of this program"))?;
    let inputs = Inputs { signals, inbox, reader, successor };
    let (service, Sockets { control, read }) = start(file, from, inputs)?;
    let metrics_address = service.metrics_address();
    let has_sockets = (control.is_some(), read.is_some());
    let files = ManuallyDrop::new(ApiFiles(service.spawner().clone()));
    let sockets = ServerConfig { socket: control, read, metrics_address };
    let api = control_server::start(sockets, handle)?;
    // Don't drop these after a failure: a broker that fails must not remove anything with which
    // another one can continue. If nothing outlives the broker, its spawner removes everything.
    let mut manager = ManuallyDrop::new(EventManager::new().map_err(BrokerError::Loop)?);
    let id = manager.add_subscriber(service);
    loop {
        manager.run().map_err(BrokerError::Loop)?;
        let service = manager.subscriber_mut(id).map_err(BrokerError::Loop)?;
        if service.has_ended() {
            let failure = service.take_failure();
            // Stop the control API before the broker's state is dropped.
            drop(api);
            drop(ManuallyDrop::into_inner(files));
            drop(ManuallyDrop::into_inner(manager));
            return failure.map_or(Ok(None), Err);
        }
        if service.must_hand_over() {
            let service = manager.remove_subscriber(id).map_err(BrokerError::Loop)?;
            drop(api);
            let spawner = service.spawner().clone();
            let (state, successor) = service.hand_over()?;
            let failed = BrokerError::Handover;
            let Some(successor) = successor else {
                let record = Handover::write(state, None).map_err(failed)?;
                spawner.keep_record(&record).map_err(BrokerError::Spawner)?;
                return Ok(None);
            };
            return successor.with(state, &spawner, has_sockets).map(Some).map_err(failed);
        }
    }
}

/// Where the broker gets its spawner.
pub enum Origin {
    /// The broker starts its own spawner.
    Own,
    /// The broker connects to the spawner that listens on the socket at this path. The spawner may
    /// have processes of an earlier broker.
    Listening(PathBuf),
    /// The program that this process executed before has handed over its spawner.
    Inherited(Box<Inherited>),
}

impl Origin {
    /// Returns true if root starts this broker, or started the broker that this one replaces.
    fn is_root(&self) -> bool {
        match self {
            Self::Inherited(inherited) => inherited.has_root(),
            Self::Own | Self::Listening(_) => process::is_root(),
        }
    }

    /// Returns the path at which the next version of this program will be installed. `None` if that
    /// is the path of this program.
    fn program(&self) -> Option<PathBuf> {
        match self {
            Self::Inherited(inherited) => Some(inherited.inheritance.program.clone()),
            Self::Own | Self::Listening(_) => None,
        }
    }
}

/// The control API's sockets.
struct Sockets {
    control: Option<UnixListener>,
    read: Option<UnixListener>,
}

/// Starts a broker. Also returns the control API's sockets.
fn start(
    file: Result<Config, ConfigError>,
    from: Origin,
    inputs: Inputs,
) -> Result<(Service, Sockets), BrokerError> {
    let reader = inputs.reader.clone();
    let read = |text: &str| reader.as_ref().and_then(|read| read(Some(text)).ok());
    let is_root = from.is_root();
    let file = file.and_then(|config| {
        check_host(&config, is_root, None).map_err(|error| config.locate(error))?;
        Ok(config)
    });
    let (chosen, listening) = match from {
        Origin::Inherited(inherited) => {
            let Inherited { inheritance, state } = *inherited;
            let chosen = Chosen::of(file, || read(state.config.as_deref()?))?;
            // Use only the sockets that the previous program had. After that program sealed the
            // spawner's policy, the spawner binds no others.
            let Config { control_socket, read_socket, .. } = &chosen.config;
            let control = control_socket.clone().filter(|_| inheritance.has_control);
            let read = read_socket.clone().filter(|_| inheritance.has_read);
            if read_socket.is_some() && read.is_none() {
                tracing::warn!("there is no read_socket until the spawner is restarted");
            }
            // Executing a program has undone this setting of the previous program, so repeat it.
            process::set_dumpable(false).map_err(BrokerError::Handover)?;
            let spawner = Spawner::restore(&inheritance.spawner).map_err(BrokerError::Handover)?;
            let dir = chosen.config.state_dir.as_deref();
            let dir = dir.map(|dir| StateDir::open(dir, None)).transpose()?;
            let handed = (state, Handling::Done);
            let service = Service::take_over(chosen, spawner, dir, handed, inputs)?;
            return bind(service, control, read);
        }
        Origin::Own => (Chosen::of(file, || None)?, None),
        Origin::Listening(path) => {
            let last_good = || read(&LastGood::beside(&path).read()?);
            (Chosen::of(file, last_good)?, Some(path))
        }
    };
    let Config { control_socket: control, read_socket: read, .. } = chosen.config.clone();
    let service = match prepare(&chosen, listening.as_deref())? {
        Ready::New(prepared) => Service::new(chosen.config, *prepared, inputs)?,
        Ready::Continuing(spawner, dir) => {
            // Read the record only now, without privileges, because it isn't trusted.
            let record = spawner.take_record().and_then(Handover::read);
            let (Handover { state, .. }, handling) = record.map_err(BrokerError::Handover)?;
            Service::take_over(chosen, spawner, dir, (state, handling), inputs)?
        }
    };
    bind(service, control, read)
}

/// Has the control API's sockets bound.
fn bind(
    service: Service,
    control: Option<PathBuf>,
    read: Option<PathBuf>,
) -> Result<(Service, Sockets), BrokerError> {
    let fail = |key, path| {
        move |refusal: Refusal| BrokerError::ApiSocket { key, path, reason: refusal.reason }
    };
    let bind_control =
        |path| service.spawner().bind(Call::BindControl).map_err(fail("control_socket", path));
    let bind_read = |path| match service.spawner().bind(Call::BindRead) {
        // A spawner of an earlier version doesn't know this call. A warning has been logged
        // already.
        Err(Refusal { part: Part::Request, .. }) => Ok(None),
        bound => bound.map(Some).map_err(fail("read_socket", path)),
    };
    let read = read.and_then(|path| bind_read(path).transpose()).transpose()?;
    // Bind the control socket last: once it exists, all sockets do.
    let control = control.map(bind_control).transpose()?;
    Ok((service, Sockets { control, read }))
}

/// A broker that has dropped its privileges.
enum Ready {
    /// The broker starts without VMs of an earlier broker.
    New(Box<Prepared>),
    /// The broker continues with the VMs of an earlier broker, which the spawner has kept.
    Continuing(Spawner, Option<StateDir>),
}

/// Carries out the steps that need root's privileges, if the broker has them, and drops the
/// privileges. Before that, it handles only the configuration file and the driver library's
/// reports. `listening` is the socket of a spawner that is running already.
fn prepare(chosen: &Chosen, listening: Option<&Path>) -> Result<Ready, BrokerError> {
    let config = &chosen.config;
    let user = privileges::choose_user(config)?;
    // A new connection to the spawner replaces another broker's connection. So first lock the state
    // directory, to make sure that no other broker is running.
    let state = config.state_dir.as_deref();
    let state = state.map(|dir| StateDir::open(dir, user.as_ref())).transpose()?;
    let (spawner, library) = match listening {
        None => (Spawner::start()?, None),
        Some(path) => Spawner::connect(path)?,
    };
    let ending = spawner.ending();
    if library.is_none() {
        // There are no VMs to continue with, so an error in the file is fatal.
        chosen.check_file()?;
    }
    process::go_before_vms();
    privileges::permit(config, &spawner)?;
    let drop_privileges = |library: PathBuf| {
        spawner.request(Call::Seal { library }).map_err(BrokerError::Spawner)?;
        let Some(user) = &user else { return Ok(()) };
        tracing::info!(uid = user.uid, "dropping root's privileges");
        privileges::switch(user)
    };
    if let Some(path) = listening
        && chosen.check_file().is_ok()
        && let Err(error) = LastGood::beside(path).write(&config.text)
    {
        tracing::warn!("cannot keep a copy of the configuration file beside the spawner: {error}");
    }
    if let Some(library) = library {
        drop_privileges(library)?;
        return Ok(Ready::Continuing(spawner, state));
    }
    if spawner.outlives_broker() {
        // An earlier broker may have failed and left processes, so end them.
        spawner.request(Call::EndAll).map_err(BrokerError::Spawner)?;
    }
    let mut driver = driver::choose(config, &spawner, driver::DRIVER_WAIT)?;
    let jail = driver::set_up_jail(config, &spawner, &mut driver)?;
    drop_privileges(driver.library.clone())?;
    Ok(Ready::New(Box::new(Prepared { spawner, ending, state, driver, jail })))
}
