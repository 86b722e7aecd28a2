//! vcudactl, the command-line client for vcudad.

use std::process::ExitCode;

fn main() -> ExitCode {
    vcudactl::main()
}
