//! Reads the modules of a crate from its source files.

use std::error::Error;
use std::path::{Path, PathBuf};

use proc_macro2::Ident;
use syn::{Attribute, Expr, Item, ItemMod, Lit, Meta, UseTree};

use super::tokens::{self, Mention, name_of};

/// A module's index in [`Crate::modules`].
pub type ModuleId = usize;

/// All modules of a library or program. The first is the root.
#[derive(Debug, Default)]
pub struct Crate {
    pub modules: Vec<Module>,
}

#[derive(Debug, Default)]
pub struct Module {
    /// The path from the root, for example `crate::ledger::account`.
    pub path: String,
    pub file: PathBuf,
    pub parent: Option<ModuleId>,
    pub children: Vec<(String, ModuleId)>,
    /// Names of the items that the module defines.
    pub items: Vec<String>,
    pub uses: Vec<Use>,
    /// Paths and names in the module's code, except those in `use` declarations.
    pub mentions: Vec<Mention>,
    /// Whether the module is generated. Its dependencies don't count, but dependencies on it do.
    pub generated: bool,
}

/// One name that a `use` declaration brings into scope.
#[derive(Debug)]
pub struct Use {
    pub path: Vec<String>,
    /// The name brought into scope, or `None` for a glob.
    pub name: Option<String>,
    /// Whether other modules may import the name from here.
    pub exported: bool,
    pub line: usize,
}

/// The directories in which a module's submodules are looked up.
#[derive(Clone)]
struct Folders {
    /// The directory to which the path in a submodule's `#[path]` is relative.
    of_file: PathBuf,
    /// The directory for submodules without a `#[path]` attribute.
    of_children: PathBuf,
}

impl Crate {
    /// Reads the library or program whose root file is `root`.
    pub fn read(root: &Path) -> Result<Self, Box<dyn Error>> {
        let mut read = Self::default();
        let folder = root.parent().unwrap_or(Path::new("")).to_owned();
        let folders = Folders { of_file: folder.clone(), of_children: folder };
        read.add_file("crate".into(), None, root, folders)?;
        Ok(read)
    }

    /// Reads a crate in which all modules are inline.
    #[cfg(test)]
    pub fn parse(source: &str) -> Result<Self, Box<dyn Error>> {
        let mut read = Self::default();
        let folders = Folders { of_file: PathBuf::new(), of_children: PathBuf::new() };
        let root = Module { path: "crate".into(), ..Module::default() };
        read.add(root, &syn::parse_file(source)?.items, &folders)?;
        Ok(read)
    }

    /// Returns whether a module is below another one.
    pub fn is_inside(&self, module: ModuleId, ancestor: ModuleId) -> bool {
        let mut parents = std::iter::successors(Some(module), |&id| self.modules[id].parent);
        parents.any(|id| id == ancestor)
    }

    fn add_file(
        &mut self,
        path: String,
        parent: Option<ModuleId>,
        file: &Path,
        folders: Folders,
    ) -> Result<ModuleId, Box<dyn Error>> {
        let text = std::fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
        let parsed = syn::parse_file(&text)
            .map_err(|e| format!("{}:{}: {e}", file.display(), e.span().start().line))?;
        let generated = file.components().any(|part| part.as_os_str() == "generated");
        let module = Module { path, parent, generated, file: file.into(), ..Module::default() };
        self.add(module, &parsed.items, &folders)
    }

    fn add(
        &mut self,
        module: Module,
        items: &[Item],
        folders: &Folders,
    ) -> Result<ModuleId, Box<dyn Error>> {
        let id = self.modules.len();
        self.modules.push(module);
        for item in items {
            self.add_item(id, item, folders)?;
        }
        Ok(id)
    }

    fn add_item(
        &mut self,
        id: ModuleId,
        item: &Item,
        folders: &Folders,
    ) -> Result<(), Box<dyn Error>> {
        if tokens::is_for_tests(item) {
            return Ok(());
        }
        match item {
            Item::Mod(declared) => {
                let child = self.add_child(id, declared, folders)?;
                self.modules[id].children.push((name_of(&declared.ident), child));
            }
            Item::Use(declared) => {
                let module = &mut self.modules[id];
                let exported = !matches!(declared.vis, syn::Visibility::Inherited);
                let line = declared.use_token.span.start().line;
                // A path with a leading `::` names another crate.
                if declared.leading_colon.is_none() {
                    add_uses(&mut module.uses, &mut Vec::new(), &declared.tree, exported, line);
                }
            }
            _ => {
                let module = &mut self.modules[id];
                module.items.extend(tokens::defined_names(item));
                tokens::collect_mentions(item, &mut module.mentions);
            }
        }
        Ok(())
    }

    fn add_child(
        &mut self,
        parent: ModuleId,
        declared: &ItemMod,
        folders: &Folders,
    ) -> Result<ModuleId, Box<dyn Error>> {
        let name = name_of(&declared.ident);
        let path = format!("{}::{name}", self.modules[parent].path);
        if let Some((_, items)) = &declared.content {
            let Module { file, generated, .. } = &self.modules[parent];
            let (file, generated) = (file.clone(), *generated);
            let folder = folders.of_children.join(&name);
            let inside = Folders { of_file: folder.clone(), of_children: folder };
            let parent = Some(parent);
            let module = Module { path, parent, generated, file, ..Module::default() };
            return self.add(module, items, &inside);
        }
        let file = match path_attribute(&declared.attrs) {
            Some(given) => folders.of_file.join(given),
            None => {
                let flat = folders.of_children.join(format!("{name}.rs"));
                let nested = folders.of_children.join(&name).join("mod.rs");
                if flat.exists() { flat } else { nested }
            }
        };
        let of_file = file.parent().unwrap_or(Path::new("")).to_owned();
        let is_folder = file.ends_with("mod.rs") || path_attribute(&declared.attrs).is_some();
        let of_children = if is_folder { of_file.clone() } else { of_file.join(&name) };
        self.add_file(path, Some(parent), &file, Folders { of_file, of_children })
    }
}

fn add_uses(
    uses: &mut Vec<Use>,
    prefix: &mut Vec<String>,
    tree: &UseTree,
    exported: bool,
    line: usize,
) {
    match tree {
        UseTree::Path(path) => {
            prefix.push(name_of(&path.ident));
            add_uses(uses, prefix, &path.tree, exported, line);
            prefix.pop();
        }
        UseTree::Group(group) => {
            for tree in &group.items {
                add_uses(uses, prefix, tree, exported, line);
            }
        }
        UseTree::Glob(_) => {
            uses.push(Use { path: prefix.clone(), name: None, exported, line });
        }
        UseTree::Name(plain) => add_use(uses, prefix, &plain.ident, &plain.ident, exported, line),
        UseTree::Rename(renamed) => {
            add_use(uses, prefix, &renamed.ident, &renamed.rename, exported, line);
        }
    }
}

fn add_use(
    uses: &mut Vec<Use>,
    prefix: &[String],
    ident: &Ident,
    name: &Ident,
    exported: bool,
    line: usize,
) {
    let mut path = prefix.to_vec();
    let mut name = name_of(name);
    if ident != "self" {
        path.push(name_of(ident));
    } else if let Some(last) = prefix.last()
        && name == "self"
    {
        name = last.clone();
    }
    uses.push(Use { path, name: Some(name), exported, line });
}

/// Returns the file named by a `#[path = "…"]` attribute.
fn path_attribute(attributes: &[Attribute]) -> Option<String> {
    attributes.iter().find_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
            Expr::Lit(value) => match &value.lit {
                Lit::Str(text) => Some(text.value()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn module_files_are_found() {
        let folder = tempfile::tempdir().expect("a folder");
        let files = [
            (
                "lib.rs",
                "mod flat; mod nested; mod inline { mod inner; }
                 #[path = \"generated/out.rs\"] mod made;",
            ),
            ("flat.rs", "mod below; #[path = \"elsewhere.rs\"] mod moved;"),
            ("flat/below.rs", "pub struct Below;"),
            ("elsewhere.rs", "pub struct Moved;"),
            ("nested/mod.rs", "mod below;"),
            ("nested/below.rs", ""),
            ("inline/inner.rs", ""),
            ("generated/out.rs", "use crate::flat::below::Below;"),
        ];
        for (name, text) in files {
            let file = folder.path().join(name);
            std::fs::create_dir_all(file.parent().expect("a folder")).expect("the folder is made");
            std::fs::write(file, text).expect("the file is written");
        }
        let krate = Crate::read(&folder.path().join("lib.rs")).expect("the modules are read");
        let mut paths: Vec<&str> =
            krate.modules.iter().map(|module| module.path.as_str()).collect();
        paths.sort_unstable();
        let expected = [
            "crate",
            "crate::flat",
            "crate::flat::below",
            "crate::flat::moved",
            "crate::inline",
            "crate::inline::inner",
            "crate::made",
            "crate::nested",
            "crate::nested::below",
        ];
        assert_eq!(paths, expected);
        let generated: Vec<&Module> = krate.modules.iter().filter(|m| m.generated).collect();
        assert!(matches!(generated[..], [made] if made.path == "crate::made"));
    }
}
