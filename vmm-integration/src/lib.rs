//! Starting virtual machines with the device attached.
