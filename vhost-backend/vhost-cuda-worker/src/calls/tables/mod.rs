//! The guest's ids and the driver's handles; how objects end.
//!
//! | module | contents |
//! |---|---|
//! | `driver_handle`, `id_map` | a handle of the driver; a map from ids |
//! | `handles`, `claims` | tables from the guest's ids to the driver's handles; reserving an id |
//! | `uses`, `ending` | how objects end: counting the calls that use them; destroying them afterwards |
//! | `token` | names of exported memory and events |

pub(crate) mod claims;
pub(crate) mod driver_handle;
pub(crate) mod ending;
pub(crate) mod handles;
pub(crate) mod id_map;
pub(crate) mod token;
pub(crate) mod uses;
