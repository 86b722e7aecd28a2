//! vcudactl: the operator's command line for vcudad.

use std::process::ExitCode;

fn main() -> ExitCode {
    vcudactl::main()
}
