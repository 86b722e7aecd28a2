//! The kernels of a library, and which of them the guest has got.

use std::collections::HashMap;

use cuda_api::sys::CUkernel;

use crate::calls::tables::driver_handle::DriverHandle;

/// The kernels of a library.
pub(in crate::calls) struct LibraryKernels {
    /// All kernels in the driver's order, each with whether [`take_after`](Self::take_after) has
    /// returned it or started from it.
    order: Vec<(DriverHandle<CUkernel>, bool)>,
    /// The index of each kernel in `order`, by the address of its handle.
    places: HashMap<usize, usize>,
}

impl LibraryKernels {
    /// Creates the record of kernels that the guest hasn't got yet.
    pub(in crate::calls) fn new(order: Vec<DriverHandle<CUkernel>>) -> Self {
        let places = order.iter().enumerate().map(|(place, kernel)| (kernel.0.addr(), place));
        Self { places: places.collect(), order: order.into_iter().map(|k| (k, false)).collect() }
    }

    /// Returns up to `most` kernels that this method hasn't returned yet and that the guest hasn't
    /// got by name either: those after `kernel`, and then those from the start of the order.
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

    /// Lets [`take_after`](Self::take_after) return these kernels again.
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
