//! The texture and surface references of the process, by handle.

use super::library::{Key, Library};
use super::state::TextureState;
use crate::error::{CuError, CuResult};
use crate::sys::{CUarray, CUmodule, CUsurfref, CUtexref};
use std::collections::BTreeMap;
use std::ptr::without_provenance_mut;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The module and the name of a reference, or `None` for a reference that the program created.
type Name = Option<(usize, String)>;

struct Texture {
    name: Name,
    key: Key,
    state: TextureState,
}

struct Surface {
    name: Name,
    key: Key,
    array: usize,
}

struct References {
    textures: BTreeMap<usize, Texture>,
    surfaces: BTreeMap<usize, Surface>,
    last: usize,
}

static REFERENCES: Mutex<References> =
    Mutex::new(References { textures: BTreeMap::new(), surfaces: BTreeMap::new(), last: 0 });

fn references() -> MutexGuard<'static, References> {
    REFERENCES.lock().unwrap_or_else(PoisonError::into_inner)
}

impl References {
    /// Returns a new handle. It's a number, not an address.
    fn mint(&mut self) -> usize {
        self.last += 1;
        self.last << 4
    }
}

/// Implements `cuModuleGetTexRef`.
pub fn texture_of<L: Library>(module: CUmodule, name: &str) -> CuResult<CUtexref> {
    L::ready()?;
    let wanted = Some((module.addr(), name.to_owned()));
    let mut all = references();
    if let Some((handle, _)) = all.textures.iter().find(|(_, texture)| texture.name == wanted) {
        return Ok(without_provenance_mut(*handle));
    }
    let (key, handle) = (L::find_texture(module, name)?, all.mint());
    all.textures.insert(handle, Texture { name: wanted, key, state: TextureState::default() });
    Ok(without_provenance_mut(handle))
}

/// Implements `cuModuleGetSurfRef`.
pub fn surface_of<L: Library>(module: CUmodule, name: &str) -> CuResult<CUsurfref> {
    L::ready()?;
    let wanted = Some((module.addr(), name.to_owned()));
    let mut all = references();
    if let Some((handle, _)) = all.surfaces.iter().find(|(_, surface)| surface.name == wanted) {
        return Ok(without_provenance_mut(*handle));
    }
    let (key, handle) = (L::find_surface(module, name)?, all.mint());
    all.surfaces.insert(handle, Surface { name: wanted, key, array: 0 });
    Ok(without_provenance_mut(handle))
}

/// Implements `cuTexRefCreate`. Kernels can only name the references of modules, so no kernel can
/// use this one.
pub fn create<L: Library>() -> CuResult<CUtexref> {
    L::ready()?;
    let mut all = references();
    let handle = all.mint();
    all.textures.insert(handle, Texture { name: None, key: 0, state: TextureState::default() });
    Ok(without_provenance_mut(handle))
}

/// Implements `cuTexRefDestroy`. A module keeps its references until it is unloaded.
pub fn destroy<L: Library>(handle: CUtexref) -> CuResult {
    L::ready()?;
    let mut all = references();
    let texture = all.textures.get(&handle.addr()).ok_or(CuError::INVALID_HANDLE)?;
    if texture.name.is_none() {
        all.textures.remove(&handle.addr());
    }
    Ok(())
}

/// Removes the references of a module that is being unloaded.
pub fn forget_module(module: usize) {
    let of_module = |name: &Name| name.as_ref().is_some_and(|(of, _)| *of == module);
    let mut all = references();
    all.textures.retain(|_, texture| !of_module(&texture.name));
    all.surfaces.retain(|_, surface| !of_module(&surface.name));
}

/// Changes the properties of a texture reference. If memory is bound to it and it belongs to a
/// module, later launches use the new properties. A change that fails has no effect.
pub fn change<L: Library>(
    handle: CUtexref,
    change: impl FnOnce(&mut TextureState) -> CuResult,
) -> CuResult {
    L::ready()?;
    let mut all = references();
    let texture = all.textures.get_mut(&handle.addr()).ok_or(CuError::INVALID_HANDLE)?;
    let mut state = texture.state;
    change(&mut state)?;
    if let (Some(_), Some(resource)) = (&texture.name, state.resource()) {
        L::bind(texture.key, &resource, &state.texture)?;
    }
    texture.state = state;
    Ok(())
}

/// Returns the properties of a texture reference.
pub fn state<L: Library>(handle: CUtexref) -> CuResult<TextureState> {
    L::ready()?;
    let all = references();
    let texture = all.textures.get(&handle.addr()).ok_or(CuError::INVALID_HANDLE)?;
    Ok(texture.state)
}

/// Returns whether kernels can name a texture reference, because it belongs to a module.
pub fn is_named<L: Library>(handle: CUtexref) -> CuResult<bool> {
    L::ready()?;
    let all = references();
    let texture = all.textures.get(&handle.addr()).ok_or(CuError::INVALID_HANDLE)?;
    Ok(texture.name.is_some())
}

/// Implements `cuSurfRefSetArray`.
pub fn set_surface<L: Library>(handle: CUsurfref, array: CUarray) -> CuResult {
    L::ready()?;
    L::array_format(array)?;
    let mut all = references();
    let surface = all.surfaces.get_mut(&handle.addr()).ok_or(CuError::INVALID_HANDLE)?;
    L::bind_surface(surface.key, array)?;
    surface.array = array.addr();
    Ok(())
}

/// Implements `cuSurfRefGetArray`.
pub fn surface<L: Library>(handle: CUsurfref) -> CuResult<CUarray> {
    L::ready()?;
    let all = references();
    let surface = all.surfaces.get(&handle.addr()).ok_or(CuError::INVALID_HANDLE)?;
    match surface.array {
        0 => Err(CuError::INVALID_VALUE),
        array => Ok(without_provenance_mut(array)),
    }
}
