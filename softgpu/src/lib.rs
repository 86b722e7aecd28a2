//! A libcuda.so.1 in software, with a PTX interpreter.
