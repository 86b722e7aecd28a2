//! The log of failed calls. cuda-api has the entry points.

use crate::entry::macros::EntryPoint;

cuda_api::log_entries!(EntryPoint);
