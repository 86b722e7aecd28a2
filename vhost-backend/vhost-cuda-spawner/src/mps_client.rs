//! Makes workers clients of an MPS daemon.

use std::path::Path;
use std::time::{Duration, Instant};

use host_ipc::spawner::MpsClient;

/// The control daemon's program, which is installed with NVIDIA's driver.
pub(crate) const DAEMON: &str = "nvidia-cuda-mps-control";
/// How long a worker waits until a new daemon accepts clients. A client that starts earlier would
/// silently run without MPS.
const READY: Duration = Duration::from_secs(5);
const STEP: Duration = Duration::from_millis(5);

/// Waits until the daemon with this pipe directory accepts clients.
pub(crate) fn wait_ready(pipe: &Path) -> Result<(), String> {
    let end = Instant::now() + READY;
    let control = pipe.join("control");
    while !control.exists() {
        if Instant::now() > end {
            let log = pipe.with_file_name("log");
            return Err(format!(
                "{DAEMON} did not start in time; see its log in {}",
                log.display()
            ));
        }
        std::thread::sleep(STEP);
    }
    Ok(())
}

/// Returns the environment variables that make a worker a client of the daemon with this pipe
/// directory, with these limits.
pub(crate) fn client_env(pipe: &Path, client: MpsClient) -> Vec<(&'static str, String)> {
    let mut env = vec![("CUDA_MPS_PIPE_DIRECTORY", pipe.display().to_string())];
    if let Some(threads) = client.threads {
        let percent = f64::from(threads) / 100.0;
        env.push(("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", percent.to_string()));
    }
    if let Some(mib) = client.memory_mib {
        let limits: Vec<_> = (0..client.gpus).map(|gpu| format!("{gpu}={mib}M")).collect();
        env.push(("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", limits.join(",")));
    }
    env
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_has_its_limits() {
        let client = MpsClient { gpus: 2, threads: Some(1250), memory_mib: Some(3072) };
        let env = client_env(Path::new("/run/pipe"), client);
        assert_eq!(
            env,
            [
                ("CUDA_MPS_PIPE_DIRECTORY", "/run/pipe".into()),
                ("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "12.5".into()),
                ("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "0=3072M,1=3072M".into()),
            ]
        );
        assert_eq!(client_env(Path::new("/run/pipe"), MpsClient::default()).len(), 1);
    }
}
