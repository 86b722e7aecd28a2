//! The guest's libcuda.so.1.
