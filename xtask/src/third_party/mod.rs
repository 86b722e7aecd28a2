//! Lists the crates that a package's programs and libraries contain: their licenses, as text, and a
//! software bill of materials (SBOM).

mod crates;
mod notices;
mod run;
mod sbom;

pub use run::run;
