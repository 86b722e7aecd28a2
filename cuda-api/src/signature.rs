//! Compares the functions that a library exports with their prototypes, at compile time.
//!
//! A library may declare a parameter with its own type instead of the header's: a number for a
//! handle or an enumeration, or its own structure with the same layout. So the comparison covers
//! what the calling convention and the callee rely on: the number of parameters, the width of each,
//! and the size of the object that a pointer points to.

/// The properties of a parameter's type that must agree with the prototype.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A value of this many bytes.
    Value(usize),
    /// A floating-point number of this many bytes. It is passed in a separate set of registers.
    Float(usize),
    /// A pointer to an object of this many bytes. The size is 1 for an untyped object, and 0 for a
    /// handle or a function.
    Pointer(usize),
}

impl Shape {
    const fn agrees(self, other: Self) -> bool {
        match (self, other) {
            (Self::Value(a), Self::Value(b)) | (Self::Float(a), Self::Float(b)) => a == b,
            (Self::Pointer(a), Self::Pointer(b)) => a == b || a <= 1 || b <= 1,
            // A handle or an untyped address may be declared as a number.
            (Self::Pointer(to), Self::Value(size)) | (Self::Value(size), Self::Pointer(to)) => {
                to <= 1 && size == size_of::<usize>()
            }
            _ => false,
        }
    }
}

/// A type that a parameter can have.
pub trait Parameter {
    /// The type's shape.
    const SHAPE: Shape;
}

/// Implements [`Parameter`] for types that are passed by value.
macro_rules! values {
    ($($t:ty),* $(,)?) => { $(
        impl $crate::signature::Parameter for $t {
            const SHAPE: $crate::signature::Shape = $crate::signature::Shape::Value(size_of::<$t>());
        }
    )* };
}
pub(crate) use values;

values!(i8, u8, i16, u16, i32, u32, i64, u64, isize, usize);

impl Parameter for f32 {
    const SHAPE: Shape = Shape::Float(4);
}

impl Parameter for f64 {
    const SHAPE: Shape = Shape::Float(8);
}

impl<T> Parameter for *mut T {
    const SHAPE: Shape = Shape::Pointer(size_of::<T>());
}

impl<T> Parameter for *const T {
    const SHAPE: Shape = Shape::Pointer(size_of::<T>());
}

/// A function pointer type.
pub trait Signature {
    /// The shapes of the result and the parameters.
    const SHAPES: &'static [Shape];
}

macro_rules! functions {
    ($($($arg:ident)*;)*) => { $(
        impl<R: Parameter, $($arg: Parameter),*> Signature for unsafe extern "C" fn($($arg),*) -> R {
            const SHAPES: &'static [Shape] = &[R::SHAPE, $($arg::SHAPE),*];
        }

        impl<R, $($arg),*> Parameter for Option<unsafe extern "C" fn($($arg),*) -> R> {
            const SHAPE: Shape = Shape::Pointer(0);
        }
    )* };
}
functions! {
    ; A; A B; A B C; A B C D; A B C D E; A B C D E F; A B C D E F G; A B C D E F G H;
    A B C D E F G H I; A B C D E F G H I J; A B C D E F G H I J K; A B C D E F G H I J K L;
    A B C D E F G H I J K L M N O; A B C D E F G H I J K L M N O P;
}

/// Returns whether two function types have the same number of parameters, and the shapes of their
/// parameters and results agree.
pub const fn agree<A: Signature, B: Signature>() -> bool {
    let (a, b) = (A::SHAPES, B::SHAPES);
    if a.len() != b.len() {
        return false;
    }
    let mut index = 0;
    while index < a.len() {
        if !a[index].agrees(b[index]) {
            return false;
        }
        index += 1;
    }
    true
}

/// Fails to compile unless a function that the library exports agrees with its prototype.
#[macro_export]
macro_rules! check_signature {
    ($name:ident($($t:ty),*)) => {
        const _: () = assert!(
            $crate::signature::agree::<
                $crate::prototypes::$name,
                unsafe extern "C" fn($($t),*) -> $crate::sys::CUresult,
            >(),
            concat!(stringify!($name), " differs from its prototype in cuda.h"),
        );
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prototypes;
    use crate::sys::{CUDA_MEMCPY2D, CUDA_MEMCPY3D, CUresult};

    macro_rules! agrees {
        ($name:ident($($t:ty),*)) => {
            agree::<prototypes::$name, unsafe extern "C" fn($($t),*) -> CUresult>()
        };
    }

    #[test]
    fn types_of_the_same_shape_agree() {
        assert!(agrees!(cuMemAlloc_v2(*mut u64, usize)));
        assert!(agrees!(cuStreamDestroy_v2(usize)));
        assert!(agrees!(cuStreamCreate(*mut usize, u32)));
        assert!(agrees!(cuMemcpy2D_v2(*const CUDA_MEMCPY2D)));
    }

    #[test]
    fn a_wrong_count_width_kind_or_structure_is_found() {
        assert!(!agrees!(cuMemAlloc_v2(*mut u64)));
        assert!(!agrees!(cuMemAlloc_v2(*mut u64, u32)));
        assert!(!agrees!(cuMemAlloc_v2(*mut u32, usize)));
        assert!(!agrees!(cuMemAlloc_v2(u64, usize)));
        assert!(!agrees!(cuParamSetf(usize, i32, u32)));
        assert!(!agrees!(cuMemcpy2D_v2(*const CUDA_MEMCPY3D)));
    }
}
