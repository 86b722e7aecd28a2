//! Tracks which of a library's kernels the guest already has.

use std::collections::HashMap;

use cuda_api::sys::CUkernel;

use crate::calls::tables::driver_handle::DriverHandle;

/// The kernels of a library, with a flag for each that says whether the guest already has it.
pub(in crate::calls) struct LibraryKernels {
    /// All kernels in the driver's order. The flag is true once [`take_after`](Self::take_after)
    /// has returned the kernel, or has been called with it.
    order: Vec<(DriverHandle<CUkernel>, bool)>,
    /// The index of each kernel in `order`, by the address of its handle.
    places: HashMap<usize, usize>,
}

impl LibraryKernels {
    /// Creates the record of a library whose kernels the guest doesn't have yet.
    pub(in crate::calls) fn new(order: Vec<DriverHandle<CUkernel>>) -> Self {
        let places = order.iter().enumerate().map(|(place, kernel)| (kernel.0.addr(), place));
        Self { places: places.collect(), order: order.into_iter().map(|k| (k, false)).collect() }
    }

    /// Returns up to `most` kernels that the guest doesn't have yet: first those after `kernel` in
    /// the driver's order, and then those from the start of the order. Doesn't return them again
    /// unless they are put back.
    pub(in crate::calls) fn take_after(
        &mut self,
        kernel: DriverHandle<CUkernel>,
        most: usize,
    ) -> Vec<DriverHandle<CUkernel>> {
        let start = match self.places.get(&kernel.0.addr()) {
            Some(&place) => {
                self.order[place].1 = true;
                place + 1
            }
            None => 0,
        };
        let (before, after) = self.order.split_at_mut(start);
        let rest = after.iter_mut().chain(before).filter(|(_, taken)| !taken).take(most);
        let take = |(kernel, taken): &mut (DriverHandle<CUkernel>, bool)| {
            *taken = true;
            *kernel
        };
        rest.map(take).collect()
    }

    /// Marks these kernels as not returned yet, so that [`take_after`](Self::take_after) can return
    /// them again.
    pub(in crate::calls) fn put_back(&mut self, kernels: &[DriverHandle<CUkernel>]) {
        for kernel in kernels {
            if let Some(&place) = self.places.get(&kernel.0.addr()) {
                self.order[place].1 = false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handle(number: usize) -> DriverHandle<CUkernel> {
        DriverHandle(std::ptr::without_provenance_mut(number))
    }

    #[test]
    fn each_kernel_is_returned_once_beginning_after_the_named_one() {
        let mut kernels = LibraryKernels::new((1..=8).map(handle).collect());
        let mut take = |after, most| -> Vec<usize> {
            let taken = kernels.take_after(handle(after), most);
            taken.iter().map(|kernel| kernel.0.addr()).collect()
        };
        assert_eq!(take(6, 3), [7, 8, 1]);
        assert_eq!(take(3, 1), [4]);
        assert!(take(99, 0).is_empty());
        assert_eq!(take(7, 64), [2, 5]);
        assert!(take(7, 64).is_empty());
        kernels.put_back(&[handle(2)]);
        assert_eq!(kernels.take_after(handle(7), 64), [handle(2)]);
    }
}
