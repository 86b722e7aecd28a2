//! The words with which the broker orders a worker to take its session's memory off the GPUs, or to
//! put it back, and with which the worker reports how far it is.
//!
//! Each order has a number, and a report contains the number of the order that it's about. The words
//! are on the gate page, which outlives the broker, so a broker that replaces another one sees which
//! orders the workers have, and which they have carried out.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::futex::futex;
use crate::gpu::MAX_GPUS;

/// Where the memory of a session is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// The memory is on the GPUs.
    #[default]
    OnGpu,
    /// The memory that can leave the GPUs has left them.
    Away,
}

/// An order of the broker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// The number of the order. 0 if the broker hasn't given any, or after the numbers wrap around.
    pub number: u32,
    /// Where the memory must be.
    pub place: Place,
}

/// A worker's report about the latest order that it has tried to carry out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The number of the order.
    pub number: u32,
    /// Where the memory is. If the worker couldn't carry out the order, a part of the memory may be
    /// elsewhere.
    pub place: Place,
    /// Whether the worker couldn't carry out the order.
    pub failed: bool,
}

/// The highest order number. After it, the numbers wrap around to 0.
const NUMBER: u32 = u32::MAX >> 2;

impl Order {
    fn word(self) -> u32 {
        self.number << 2 | self.place as u32
    }

    fn from_word(word: u32) -> Self {
        Self { number: word >> 2, place: place(word) }
    }
}

impl Report {
    fn word(self) -> u32 {
        self.number << 2 | u32::from(self.failed) << 1 | self.place as u32
    }

    fn from_word(word: u32) -> Self {
        Self { number: word >> 2, place: place(word), failed: word & 2 != 0 }
    }
}

fn place(word: u32) -> Place {
    if word & 1 == 0 { Place::OnGpu } else { Place::Away }
}

/// The words on the gate page. What the worker writes is untrusted.
#[repr(C, align(64))]
#[derive(Default)]
pub struct Residency {
    /// Written by the broker.
    order: AtomicU32,
    report: AtomicU32,
    needs: AtomicU32,
    away: [AtomicU64; MAX_GPUS],
}

impl Residency {
    /// Gives the worker the next order. Only the broker calls this.
    pub fn give_order(&self, place: Place) {
        let number = Order::from_word(self.order.load(Ordering::SeqCst)).number;
        let order = Order { number: number.wrapping_add(1) & NUMBER, place };
        self.order.store(order.word(), Ordering::SeqCst);
        // Wake only one thread, because a compromised worker could make many threads wait.
        futex(&self.order, libc::FUTEX_WAKE, 1);
    }

    /// Returns the latest order.
    pub fn order(&self) -> Order {
        Order::from_word(self.order.load(Ordering::SeqCst))
    }

    /// Waits until the latest order isn't `known`, and returns it. Only one thread may wait.
    pub fn next_order(&self, known: Order) -> Order {
        loop {
            let order = self.order();
            if order != known {
                return order;
            }
            futex(&self.order, libc::FUTEX_WAIT, known.word());
        }
    }

    /// Reports what has become of an order. Only the worker calls this.
    pub fn set_report(&self, report: Report) {
        self.report.store(report.word(), Ordering::SeqCst);
    }

    /// Returns the worker's latest report.
    pub fn report(&self) -> Report {
        Report::from_word(self.report.load(Ordering::SeqCst))
    }

    /// Sets whether the session has calls that wait for its memory to return. Only the worker calls
    /// this.
    pub fn set_needs(&self, needs: bool) {
        self.needs.store(needs.into(), Ordering::SeqCst);
    }

    /// Returns whether the session has calls that wait for its memory to return.
    pub fn needs(&self) -> bool {
        self.needs.load(Ordering::SeqCst) != 0
    }

    /// Sets how many bytes of the session's memory are away from a GPU. Only the worker calls this,
    /// before it reports.
    pub fn set_away(&self, device: usize, bytes: u64) {
        if let Some(away) = self.away.get(device) {
            away.store(bytes, Ordering::SeqCst);
        }
    }

    /// Returns how many bytes of the session's memory are away from a GPU.
    pub fn away(&self, device: usize) -> u64 {
        self.away.get(device).map_or(0, |away| away.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::GateMap;

    #[test]
    fn a_worker_sees_each_order_and_its_reports_name_it() {
        let file = GateMap::create().unwrap();
        let (broker, worker) = (GateMap::map(&file).unwrap(), GateMap::map(&file).unwrap());
        let known = worker.residency.order();
        assert_eq!((known, broker.residency.report()), (Order::default(), Report::default()));
        let waits = std::thread::spawn(move || {
            let order = worker.residency.next_order(known);
            let Order { number, place } = order;
            worker.residency.set_away(1, 7);
            worker.residency.set_report(Report { number, place, failed: true });
            order
        });
        broker.residency.give_order(Place::Away);
        assert_eq!(waits.join().unwrap(), Order { number: 1, place: Place::Away });
        let report = Report { number: 1, place: Place::Away, failed: true };
        assert_eq!((broker.residency.report(), broker.residency.away(1)), (report, 7));
        broker.residency.give_order(Place::OnGpu);
        assert_eq!(broker.residency.order(), Order { number: 2, place: Place::OnGpu });
    }

    #[test]
    fn order_numbers_wrap_around() {
        let words = Residency::default();
        words.order.store(Order { number: NUMBER, place: Place::Away }.word(), Ordering::SeqCst);
        assert_eq!(words.order(), Order { number: NUMBER, place: Place::Away });
        words.give_order(Place::Away);
        assert_eq!(words.order(), Order { number: 0, place: Place::Away });
    }
}
