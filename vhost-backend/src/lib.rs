//! The host's side: device process, worker, broker.
