//! CUresult as a number: a driver may return one that this program's headers don't know.

/// A CUresult other than CUDA_SUCCESS.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CuError(pub u32);

/// What a call of the driver API gives.
pub type CuResult<T = ()> = Result<T, CuError>;

macro_rules! errors {
    ($($name:ident = $number:literal),* $(,)?) => {
        #[allow(missing_docs)]
        impl CuError {
            $( pub const $name: Self = Self($number); )*

            fn name(self) -> Option<&'static str> {
                match self { $( Self::$name => Some(stringify!($name)), )* _ => None }
            }
        }
    };
}

errors! {
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NOT_INITIALIZED = 3,
    NO_DEVICE = 100,
    INVALID_DEVICE = 101,
    INVALID_IMAGE = 200,
    INVALID_CONTEXT = 201,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    NOT_READY = 600,
    ILLEGAL_ADDRESS = 700,
    CONTEXT_IS_DESTROYED = 709,
    HOST_MEMORY_ALREADY_REGISTERED = 712,
    HOST_MEMORY_NOT_REGISTERED = 713,
    NOT_SUPPORTED = 801,
    UNKNOWN = 999,
}

impl CuError {
    /// The result of a call as a `Result`.
    pub fn check(result: u32) -> CuResult {
        if result == 0 { Ok(()) } else { Err(Self(result)) }
    }
}

impl std::fmt::Display for CuError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.name() {
            Some(name) => write!(f, "CUDA_ERROR_{name}"),
            None => write!(f, "CUresult {}", self.0),
        }
    }
}

impl std::fmt::Debug for CuError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for CuError {}
