//! Finds the guest's libcuda.

use std::path::{Path, PathBuf};

use crate::error::CtlError;

/// The paths at which to search for the library, relative to the directory of this program: that of
/// an installed package, and those of a build.
const PLACES: [&str; 3] =
    ["../lib/virtio-cuda/guest/libcuda.so.1", "../guest/libcuda.so.1", "libguest_libcuda.so"];

/// Returns the path of the library: the given one or, without one, the first of the known places at
/// which the library exists.
pub(crate) fn find(given: Option<&Path>) -> Result<PathBuf, CtlError> {
    if let Some(path) = given {
        return Ok(path.to_owned());
    }
    let program = std::env::current_exe().map_err(CtlError::os("cannot find this program"))?;
    let folder = program.parent().unwrap_or(Path::new("/"));
    let found = PLACES.map(|place| folder.join(place)).into_iter().find(|path| path.exists());
    found.ok_or_else(|| {
        let place = folder.join(PLACES[0]);
        CtlError::Untested(format!(
            "the guest's libcuda.so.1 isn't at {}: install the package virtio-cuda-host completely, or \
             pass the library's path to --libcuda",
            place.display()
        ))
    })
}
