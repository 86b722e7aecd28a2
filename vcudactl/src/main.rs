//! vcudactl: shows and changes what vcudad does.

use std::process::ExitCode;

fn main() -> ExitCode {
    vcudactl::main()
}
