//! softgpu's backend for the log of failed calls. cuda-api has the entry points.

use super::entry::EntryPoint;

cuda_api::log_entries!(EntryPoint);
