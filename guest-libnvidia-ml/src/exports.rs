//! The library's exports: the functions of [`entry`](crate::entry), and stubs for all other
//! symbols.

use crate::entry;

const LISTS: &[&[cuda_api::exports::Entry]] = &[
    entry::device::ENTRIES,
    entry::events::ENTRIES,
    entry::fields::ENTRIES,
    entry::identity::ENTRIES,
    entry::links::ENTRIES,
    entry::memory::ENTRIES,
    entry::private::ENTRIES,
    entry::processes::ENTRIES,
    entry::system::ENTRIES,
    entry::system::TEXT,
    entry::utilization::ENTRIES,
];

cuda_api::exports_of! {
    symbols = crate::symbols, for_each = crate::symbols::for_each_symbol,
    result = crate::generated::sys::nvmlReturn_t, lists = LISTS, unsupported = crate::unsupported
}
