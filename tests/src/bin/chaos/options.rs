//! The command line of the chaos test.

use std::path::PathBuf;

/// The options of the chaos test.
pub struct Options {
    pub seconds: u64,
    pub seed: u64,
    /// The directory to which the list of actions and vcudad's log are written.
    pub out: PathBuf,
}

impl Options {
    /// Parses the arguments. Returns `None` if they are invalid.
    pub fn parse(args: &[String]) -> Option<Self> {
        let mut options = Self { seconds: 60, seed: 1, out: PathBuf::from("target/chaos") };
        for pair in args.chunks(2) {
            let [name, value] = pair else { return None };
            match name.as_str() {
                "--seconds" => options.seconds = value.parse().ok()?,
                "--seed" => options.seed = value.parse().ok()?,
                "--out" => options.out = value.into(),
                _ => return None,
            }
        }
        Some(options)
    }
}
