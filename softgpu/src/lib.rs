//! A libcuda.so.1 in software, with a PTX interpreter.

pub mod exec;
pub mod ptx;
