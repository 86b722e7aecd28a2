//! The cache for code that NVIDIA's compilers (NVRTC, nvJitLink) have generated. NVIDIA's driver
//! keeps one on disk, and the compilers call it through a private table. Without it, a program that
//! compiles kernels as it runs, such as one that uses cuDNN, compiles the same kernels again and
//! again: cuDNN relies on the cache even within a process.
//!
//! * [`files`] keeps the entries in files.
//! * [`settings`] has the settings, from CUDA's environment variables.

pub mod files;
pub mod settings;

#[cfg(test)]
mod tests;
