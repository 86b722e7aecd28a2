//! End-to-end tests: CUDA programs on every path.
