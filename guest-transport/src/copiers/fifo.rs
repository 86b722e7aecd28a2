//! A queue with a fixed capacity that allocates no memory.

use super::job::JOBS;

/// A queue of at most [`JOBS`] values, which allocates no memory.
#[derive(Clone, Copy)]
pub struct Fifo<T> {
    values: [Option<T>; JOBS],
    first: usize,
    len: usize,
}

impl<T: Copy> Fifo<T> {
    pub const fn new() -> Self {
        Self { values: [None; JOBS], first: 0, len: 0 }
    }

    pub fn push(&mut self, value: T) {
        self.values[(self.first + self.len) % JOBS] = Some(value);
        self.len += 1;
    }

    pub fn pop(&mut self) -> Option<T> {
        if self.len == 0 {
            return None;
        }
        let value = self.values[self.first].take();
        self.first = (self.first + 1) % JOBS;
        self.len -= 1;
        value
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}
