//! Exports every symbol of a library through one table of function addresses.
//!
//! A library declares its entry points in modules, each of which lists them as [`Entry`]s. Its root
//! passes these lists to [`exports!`](crate::exports), which builds the table at compile time: the
//! address of a registered function, or of a stub that reports the call as not supported. Every
//! symbol is exported as a jump through the table, so registration alone decides what is
//! implemented. Registering two functions for a symbol fails to compile.

/// A function, with the index of the symbol that it implements.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    index: usize,
    address: *const (),
}

impl Entry {
    /// Creates an entry: the function at `address` implements the symbol at `index` in the
    /// library's list of symbols.
    pub const fn new(index: usize, address: *const ()) -> Self {
        Self { index, address }
    }
}

/// The address of each symbol of a library, in the order of the library's list of symbols.
#[repr(transparent)]
#[derive(Debug)]
pub struct Table<const N: usize>([*const (); N]);

// SAFETY: the words are addresses of functions, and are never written.
unsafe impl<const N: usize> Sync for Table<N> {}

impl<const N: usize> Table<N> {
    /// Creates the table from the registered functions. All other symbols get their stub.
    pub const fn new(stubs: [*const (); N], lists: &[&[Entry]]) -> Self {
        let mut addresses = stubs;
        let registered = registered::<N>(lists);
        let mut index = 0;
        while index < N {
            if let Some(address) = registered[index] {
                addresses[index] = address;
            }
            index += 1;
        }
        Self(addresses)
    }

    /// Returns the address of the symbol at `index`.
    pub fn address(&self, index: usize) -> Option<*const core::ffi::c_void> {
        self.0.get(index).map(|address| address.cast())
    }
}

/// Returns the registered function of each symbol, if any.
pub const fn registered<const N: usize>(lists: &[&[Entry]]) -> [Option<*const ()>; N] {
    let mut found = [None; N];
    let mut list = 0;
    while list < lists.len() {
        let mut at = 0;
        while at < lists[list].len() {
            let Entry { index, address } = lists[list][at];
            assert!(found[index].is_none(), "two functions are registered for one symbol");
            found[index] = Some(address);
            at += 1;
        }
        list += 1;
    }
    found
}

/// Creates an [`Entry`] for a function that has the name of a driver API symbol.
#[macro_export]
macro_rules! entry {
    ($name:ident) => {
        $crate::exports::Entry::new($crate::symbols::index::$name, $name as *const ())
    };
}

/// Exports all driver API symbols, given a library's lists of entry points. `unsupported` maps the
/// name of a symbol that isn't implemented, and the arguments of a call, to the `CUresult` that the
/// call returns.
///
/// Defines `address`, which finds a symbol's address by its name, and `implemented`, which lists
/// the names of all implemented symbols.
#[macro_export]
macro_rules! exports {
    (lists = $lists:path, unsupported = $unsupported:path) => {
        $crate::exports_of! {
            symbols = $crate::symbols, for_each = $crate::for_each_symbol,
            result = $crate::sys::CUresult, lists = $lists, unsupported = $unsupported
        }
    };
}

/// Exports all symbols of a library with its own list of symbols, as [`exports!`] does for the
/// driver API's. `symbols` is the module with that list, which has `COUNT`, `name(index)` and
/// `index_of(name)`; `for_each` is the macro that lists the symbols.
#[macro_export]
macro_rules! exports_of {
    (symbols = $symbols:path, for_each = $for_each:path, result = $result:ty,
     lists = $lists:path, unsupported = $unsupported:path) => {
        use $for_each as for_each_symbol;
        use $symbols as symbols;

        /// Handles a call of a function that isn't registered. Its parameters are the six registers
        /// that can contain integer arguments, whatever parameters the function really has.
        extern "C" fn stub<const INDEX: usize>(
            a: u64,
            b: u64,
            c: u64,
            d: u64,
            e: u64,
            f: u64,
        ) -> $result {
            $unsupported(symbols::name(INDEX), &[a, b, c, d, e, f])
        }

        static TABLE: $crate::exports::Table<{ symbols::COUNT }> =
            $crate::exports::Table::new(for_each_symbol! { ($crate::exports_stubs) }, $lists);

        /// The exported functions. They need a separate module, because the entry points have the
        /// same names.
        mod trampolines {
            use super::TABLE;

            super::for_each_symbol! { ($crate::exports_trampolines) }
        }

        /// The addresses of the exported functions, so that a lookup by name returns the same
        /// address as the symbol itself.
        static EXPORTED: $crate::exports::Table<{ symbols::COUNT }> =
            $crate::exports::Table::new(for_each_symbol! { ($crate::exports_exported) }, &[]);

        /// Returns the address of an exported symbol, implemented or not.
        #[allow(dead_code)]
        pub fn address(name: &str) -> Option<*const ::core::ffi::c_void> {
            EXPORTED.address(symbols::index_of(name)?)
        }

        /// Returns the names of all implemented symbols.
        #[allow(dead_code)]
        pub fn implemented() -> impl Iterator<Item = &'static str> {
            let registered = const { $crate::exports::registered::<{ symbols::COUNT }>($lists) };
            let indices = (0..symbols::COUNT).filter(move |index| registered[*index].is_some());
            indices.map(symbols::name)
        }
    };
}

/// Defines the stubs for [`exports!`].
#[doc(hidden)]
#[macro_export]
macro_rules! exports_stubs {
    ($($name:ident $index:literal)*) => { [$(stub::<$index> as *const ()),*] };
}

/// Lists the addresses of the functions that [`exports!`] exports.
#[doc(hidden)]
#[macro_export]
macro_rules! exports_exported {
    ($($name:ident $index:literal)*) => { [$(trampolines::$name as *const ()),*] };
}

/// Defines the functions that [`exports!`] exports.
#[doc(hidden)]
#[macro_export]
macro_rules! exports_trampolines {
    ($($name:ident $index:literal)*) => { $(
        /// Jumps to the function in the table.
        ///
        /// # Safety
        ///
        /// The caller must pass the arguments that the function's documentation requires.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        #[allow(non_snake_case)]
        pub unsafe extern "C" fn $name() {
            // The jump leaves the arguments where the caller put them.
            ::core::arch::naked_asm!(
                "jmp qword ptr [rip + {table} + {offset}]",
                table = sym TABLE,
                offset = const $index * size_of::<usize>(),
            )
        }
    )* };
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: *const () = 0x10 as *const ();
    const B: *const () = 0x20 as *const ();
    const STUB: *const () = 0x30 as *const ();

    #[test]
    fn a_symbol_without_a_function_has_its_stub() {
        let table = Table::new([STUB; 3], &[&[Entry::new(2, A)], &[], &[Entry::new(0, B)]]);
        let addresses = [0, 1, 2, 3].map(|index| table.address(index));
        assert_eq!(addresses, [Some(B.cast()), Some(STUB.cast()), Some(A.cast()), None]);
    }

    #[test]
    #[should_panic(expected = "two functions are registered")]
    fn two_functions_for_a_symbol_are_refused() {
        registered::<3>(&[&[Entry::new(1, A)], &[Entry::new(1, B)]]);
    }
}
