//! A case, and the macro that defines the cases of a family.

use crate::cuda::{Cuda, Outcome};

/// A conformance case: a sequence of calls whose effects and errors are checked.
pub struct Case {
    family: &'static str,
    name: &'static str,
    body: fn(&Cuda) -> Outcome,
}

impl Case {
    /// Creates a case. `path` is the path of the module that contains it, whose last segment is the
    /// case's family.
    pub const fn new(path: &'static str, name: &'static str, body: fn(&Cuda) -> Outcome) -> Self {
        let bytes = path.as_bytes();
        let mut start = bytes.len();
        while start > 0 && bytes[start - 1] != b':' {
            start -= 1;
        }
        Self { family: path.split_at(start).1, name, body }
    }

    /// Returns the case's full name, such as `memory::copies_arrive`.
    pub fn name(&self) -> String {
        format!("{}::{}", self.family, self.name)
    }

    pub fn run(&self, cuda: &Cuda) -> Outcome {
        (self.body)(cuda)
    }
}

/// A type that the body of a case can return: `()`, which means success, or a result.
pub trait Ending {
    fn outcome(self) -> Outcome;
}

impl Ending for () {
    fn outcome(self) -> Outcome {
        Ok(())
    }
}

impl Ending for Outcome {
    fn outcome(self) -> Outcome {
        self
    }
}

/// Defines the cases of a family, and `CASES`, a list of them. A case with the parameter `primary`
/// begins with the first device's primary context current: `fn name(cuda, primary)`, or
/// `fn name(cuda, primary = (device, context))` if it needs the values of [`Cuda::primary`].
macro_rules! cases {
    ($(
        $(#[$doc:meta])*
        fn $name:ident($cuda:ident $(, primary $(= $primary:pat)?)?) $body:block
    )*) => {
        pub(super) const CASES: &[$crate::case::Case] = &[$(
            $crate::case::Case::new(module_path!(), stringify!($name), $name)
        ),*];
        $(
            $(#[$doc])*
            fn $name($cuda: &$crate::cuda::Cuda) -> $crate::cuda::Outcome {
                $($(let $primary =)? $cuda.primary()?;)?
                $crate::case::Ending::outcome($body)
            }
        )*
    };
}
pub(crate) use cases;
