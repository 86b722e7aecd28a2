//! `vcuda-run`; see the library's documentation.

use std::path::Path;

use vmm_integration::options::{Options, Vmm};
use vmm_integration::{RunError, cloud_hypervisor, guest, kvm, plan, process, vm};

fn main() {
    let arguments: Vec<_> = std::env::args_os().collect();
    // Run the guest side. Ignore further arguments, because the kernel may append words after the
    // job's path.
    match (arguments.get(1).and_then(|word| word.to_str()), arguments.get(2)) {
        (Some("guest-init"), Some(job)) => guest::init(Path::new(job)),
        (Some("guest-agent"), Some(job)) => std::process::exit(guest::agent(Path::new(job))),
        _ => {}
    }
    process::catch_signals();
    let code =
        Options::parse_line(arguments).and_then(|options| run(&options)).unwrap_or_else(|error| {
            eprintln!("vcuda-run: {error}");
            error.exit_code()
        });
    std::process::exit(code);
}

fn run(options: &Options) -> Result<i32, RunError> {
    if options.probe_kvm {
        return Ok(match kvm::usable(options) {
            Ok(()) => {
                println!("kvm: usable (a trial guest booted)");
                0
            }
            Err(why) => {
                println!("kvm: not usable: {why}");
                1
            }
        });
    }
    if options.vmm == Vmm::CloudHypervisor && options.print {
        print!("{}", cloud_hypervisor::describe(options)?);
        return Ok(0);
    }
    let plan::Plan { launch, name, device, folder } = plan::plan(options)?;
    if options.print {
        println!("{}", process::shell_line(&launch.command));
        return Ok(0);
    }
    let outcome = vm::run(launch, &mut std::io::stdout(), &mut std::io::stderr());
    drop(device);
    if let Err(error) = folder.close() {
        eprintln!("vcuda-run: cannot remove the temporary folder: {error}");
    }
    let outcome = outcome?;
    if options.verbose {
        eprintln!(
            "vcuda-run: vmm={name} boot={} ms, total={} ms, exit code {}",
            outcome.boot.as_millis(),
            outcome.total.as_millis(),
            outcome.code
        );
    }
    Ok(outcome.code)
}
