//! Resolves a path in a module to the module that defines the item.

use std::collections::HashSet;

use super::source::{Crate, ModuleId};

/// The target of a path: a module or an item in the crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    Module(ModuleId),
    /// An item, given by the module that defines it.
    ItemOf(ModuleId),
}

/// The names that are being resolved. If a name is already in the set when its resolution starts,
/// the re-exports are circular.
type Pending = HashSet<(ModuleId, String)>;

/// Resolves `path` in module `from`. The result is empty if the path leads outside the crate, and
/// has two targets if the name is that of both a module and an item.
pub fn resolve(krate: &Crate, from: ModuleId, path: &[String]) -> Vec<Target> {
    let found = resolve_path(krate, from, path, &mut Pending::new());
    found.unwrap_or_else(|| path.first().map(|name| macros(krate, name)).unwrap_or_default())
}

/// Resolves a path in the same way as [`resolve`], but returns `None` if the first segment isn't a
/// name in this crate.
fn resolve_path(
    krate: &Crate,
    from: ModuleId,
    path: &[String],
    pending: &mut Pending,
) -> Option<Vec<Target>> {
    let (first, mut rest) = path.split_first()?;
    let mut found = match first.as_str() {
        "crate" => vec![Target::Module(0)],
        "self" => vec![Target::Module(from)],
        "super" => vec![Target::Module(krate.modules[from].parent?)],
        name => resolve_name(krate, from, name, pending)?,
    };
    while let Some((name, after)) = rest.split_first() {
        rest = after;
        found = found.iter().flat_map(|&target| step(krate, target, name, pending)).collect();
    }
    Some(found)
}

/// Resolves `name` inside `target`.
fn step(krate: &Crate, target: Target, name: &str, pending: &mut Pending) -> Vec<Target> {
    match target {
        // `name` is an item's variant or associated item.
        Target::ItemOf(_) => vec![target],
        Target::Module(module) if name == "super" => {
            krate.modules[module].parent.map(Target::Module).into_iter().collect()
        }
        // If the module has no such name, assume that a macro defines it as an item there.
        Target::Module(module) => resolve_name(krate, module, name, pending).unwrap_or_else(|| {
            if name.ends_with('!') { macros(krate, name) } else { vec![Target::ItemOf(module)] }
        }),
    }
}

/// Resolves the name of a macro that is neither defined nor imported where it's used, so it's in
/// scope because of `#[macro_use]` or `#[macro_export]`, or comes from another crate.
fn macros(krate: &Crate, name: &str) -> Vec<Target> {
    let defines = |&id: &ModuleId| krate.modules[id].items.iter().any(|item| item == name);
    match (0..krate.modules.len()).filter(defines).collect::<Vec<_>>()[..] {
        [module] if name.ends_with('!') => vec![Target::ItemOf(module)],
        _ => Vec::new(),
    }
}

/// Resolves a single `name` in `module`. Returns `None` if the module doesn't have such a name, and
/// an empty list if the name may come from another crate.
fn resolve_name(
    krate: &Crate,
    module: ModuleId,
    name: &str,
    pending: &mut Pending,
) -> Option<Vec<Target>> {
    if !pending.insert((module, name.to_owned())) {
        return None;
    }
    let found = resolve_declared(krate, module, name, pending)
        .or_else(|| resolve_by_glob(krate, module, name, pending));
    pending.remove(&(module, name.to_owned()));
    found
}

/// Resolves `name` among the module's children, items, and imports other than globs.
fn resolve_declared(
    krate: &Crate,
    module: ModuleId,
    name: &str,
    pending: &mut Pending,
) -> Option<Vec<Target>> {
    let declared = &krate.modules[module];
    let children = declared.children.iter().filter(|(child, _)| child == name);
    let mut found: Vec<Target> = children.map(|(_, id)| Target::Module(*id)).collect();
    if declared.items.iter().any(|item| item == name) {
        found.push(Target::ItemOf(module));
    }
    let mut known = !found.is_empty();
    let plain = name.trim_end_matches('!');
    for import in declared.uses.iter().filter(|import| import.name.as_deref() == Some(plain)) {
        known = true;
        let mut path = import.path.clone();
        if let Some(last) = path.last_mut() {
            last.push_str(&name[plain.len()..]);
        }
        found.extend(resolve_path(krate, module, &path, pending).unwrap_or_default());
    }
    known.then_some(found)
}

fn resolve_by_glob(
    krate: &Crate,
    module: ModuleId,
    name: &str,
    pending: &mut Pending,
) -> Option<Vec<Target>> {
    let mut may_be_foreign = false;
    for glob in krate.modules[module].uses.iter().filter(|import| import.name.is_none()) {
        let sources = resolve_path(krate, module, &glob.path, pending).unwrap_or_default();
        may_be_foreign |= sources.is_empty();
        for source in sources {
            if let Target::Module(source) = source
                && let Some(found) = resolve_name(krate, source, name, pending)
            {
                return Some(found);
            }
        }
    }
    may_be_foreign.then(Vec::new)
}
