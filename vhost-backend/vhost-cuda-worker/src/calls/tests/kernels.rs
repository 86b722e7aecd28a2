//! Tests of the kernels of libraries.

use std::collections::HashSet;

use super::claims::{library, module};
use super::*;
use protocol::ids::{KernelId, LibraryId};
use protocol::limits::{MORE_KERNELS_MAX, PARAMETERS_MAX};
use protocol::structs::ParameterPlace;

const KERNELS: u64 = 100;
/// The number of a kernel that the worker can't describe, because it has too many parameters.
const BAD: u64 = 13;

/// Returns PTX text with kernels named k0, k1, and so on. They have 0 to 2 parameters, except for
/// [`BAD`].
fn text() -> String {
    let too_many = || (0..=PARAMETERS_MAX).map(|place| format!(".param .u8 p{place}"));
    let kernel = |number: u64| {
        let parameters = match number {
            BAD => too_many().collect::<Vec<_>>().join(", "),
            _ => {
                [".param .u64 p, .param .u32 q", "", ".param .u64 p"][(number % 3) as usize].into()
            }
        };
        format!(".visible .entry k{number}({parameters}) {{ ret; }}\n")
    };
    let kernels: String = (0..KERNELS).map(kernel).collect();
    format!(".version 7.0\n.target sm_70\n.address_size 64\n{kernels}")
}

fn parameters(number: u64) -> Vec<ParameterPlace> {
    let (p, q) = (ParameterPlace { offset: 0, size: 8 }, ParameterPlace { offset: 8, size: 4 });
    [vec![p, q], vec![], vec![p]][(number % 3) as usize].clone()
}

fn get(id: u64, name: &str, more: usize) -> VcudaLibraryGetKernels<'_> {
    let (p_kernel, library) = (KernelId(id), LibraryId(9));
    VcudaLibraryGetKernels { p_kernel, library, name, more: more as u32 }
}

/// Returns the numbers of the additional kernels in an answer, after checking their parameters'
/// layout.
fn others(answer: &VcudaLibraryGetKernelsAnswer) -> Vec<u64> {
    let mut layouts = answer.layouts.as_slice();
    let check = |(name, count): (&str, &u32)| {
        let number = name.strip_prefix('k').unwrap().parse().unwrap();
        let (layout, rest) = layouts.split_at(*count as usize);
        layouts = rest;
        assert_eq!(layout, parameters(number), "{name}");
        number
    };
    let numbers: Vec<u64> = answer.names.iter().zip(&answer.counts).map(check).collect();
    assert_eq!((numbers.len(), layouts), (answer.counts.len(), &[][..]));
    numbers
}

#[test]
fn a_kernel_comes_with_others_of_its_library() {
    alone("a_kernel_comes_with_others_of_its_library", |mut bench| {
        bench.good(&library(9, &text()));
        let first = bench.good(&get(1000, "k3", 8));
        assert_eq!(first.layout, parameters(3));
        assert_eq!(others(&first).len(), 8);
        // Each kernel can be used under the id that it got, and no kernel is returned twice.
        let mut seen = HashSet::from([3]);
        let mut have = vec![(1000, 3)];
        have.extend((1001..).zip(others(&first)));
        let second = bench.good(&get(2000, "k99", MORE_KERNELS_MAX));
        have.push((2000, 99));
        have.extend((2001..).zip(others(&second)));
        for (id, number) in have {
            assert!(seen.insert(number) || number == 3, "k{number} twice");
            bench.good(&CuFuncLoad { hfunc: FuncId(id) });
        }
        let last = bench.good(&get(3000, "k3", MORE_KERNELS_MAX));
        seen.extend(others(&last));
        let all: HashSet<u64> = (0..KERNELS).filter(|number| *number != BAD).collect();
        assert_eq!(seen, all);
        assert!(others(&bench.good(&get(4000, "k4", MORE_KERNELS_MAX))).is_empty());
        bench.good(&CuLibraryUnload { library: LibraryId(9) });
        let gone = bench.call(&CuFuncLoad { hfunc: FuncId(1001) }).0;
        assert_eq!(gone, CuError::INVALID_HANDLE.0);
        assert_eq!(bench.used(), 0);
    });
}

#[test]
fn a_kernel_that_cant_be_described_fails_only_its_own_lookup() {
    alone("a_kernel_that_cant_be_described_fails_only_its_own_lookup", |mut bench| {
        bench.good(&library(9, &text()));
        assert_eq!(bench.call(&get(1000, &format!("k{BAD}"), 4)).0, CuError::INVALID_IMAGE.0);
        assert_eq!(bench.call(&get(1000, "missing", 4)).0, CuError::NOT_FOUND.0);
        // The failed calls above haven't used up the id.
        let before = format!("k{}", BAD - 1);
        let numbers = others(&bench.good(&get(1000, &before, 4)));
        assert!(!numbers.contains(&BAD), "{numbers:?}");
    });
}

#[test]
fn hostile_ids_and_counts_get_no_more_than_the_limits() {
    alone("hostile_ids_and_counts_get_no_more_than_the_limits", |mut bench| {
        bench.good(&library(9, &text()));
        let invalid = CuError::INVALID_VALUE.0;
        for more in [MORE_KERNELS_MAX + 1, u32::MAX as usize] {
            assert_eq!(bench.call(&get(1000, "k0", more)).0, invalid);
        }
        // The additional kernels get only valid ids that aren't in use.
        assert!(others(&bench.good(&get(u64::MAX, "k0", 8))).is_empty());
        bench.good(&get(1003, "k50", 0));
        let numbers = others(&bench.good(&get(1000, "k1", 8)));
        assert_eq!(numbers.len(), 2);
        assert_eq!(bench.call(&get(1003, "k2", 8)).0, invalid);
        assert_eq!(bench.call(&get(0, "k2", 8)).0, invalid);
        let unknown = VcudaLibraryGetKernels { library: LibraryId(8), ..get(1100, "k2", 8) };
        assert_eq!(bench.call(&unknown).0, CuError::INVALID_HANDLE.0);
    });
}

#[test]
fn all_attributes_come_in_one_reply() {
    alone("all_attributes_come_in_one_reply", |mut bench| {
        bench.good(&library(9, &text()));
        bench.good(&get(1000, "k0", 0));
        let of_kernel = VcudaKernelAttributes { kernel: KernelId(1000), dev: 0 };
        let of_function = VcudaFuncAttributes { hfunc: FuncId(1000) };
        let (most_threads, dynamic) = (0, 8);
        let set = CuKernelSetAttribute { attrib: 8, val: 4096, kernel: KernelId(1000), dev: 0 };
        for limit in [48 << 10, 4096] {
            let all = [bench.good(&of_kernel).attributes, bench.good(&of_function).attributes];
            for attributes in all {
                assert!(attributes.iter().all(|attribute| attribute.result == 0));
                assert_eq!(attributes[most_threads].value, 1024);
                assert_eq!(attributes[dynamic].value, limit);
            }
            bench.good(&set);
        }
        let refused = bench.good(&VcudaKernelAttributes { dev: 7, ..of_kernel }).attributes;
        let invalid = CuError::INVALID_DEVICE.0;
        assert!(refused.iter().all(|attribute| attribute.result == invalid));
        let function = VcudaKernelAttributes { kernel: KernelId(1), dev: 0 };
        assert_eq!(bench.call(&function).0, CuError::INVALID_HANDLE.0);
    });
}

#[test]
fn a_function_of_a_module_comes_with_its_attributes() {
    alone("a_function_of_a_module_comes_with_its_attributes", |mut bench| {
        bench.good(&module(7, &text()));
        let (hfunc, hmod) = (FunctionId(1000), ModuleId(7));
        let function = bench.good(&VcudaModuleGetFunction { hfunc, hmod, name: "k0" });
        assert_eq!(function.layout, parameters(0));
        let all = bench.good(&VcudaFuncAttributes { hfunc: hfunc.into() }).attributes;
        assert_eq!((function.attributes[0].value, function.attributes), (1024, all));
    });
}
