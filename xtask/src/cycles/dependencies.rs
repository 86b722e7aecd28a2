//! Finds the dependencies between the modules of a crate.

use std::collections::BTreeMap;

use super::names::{self, Target};
use super::source::{Crate, ModuleId};

/// The first place where a module names an item of another module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Example {
    pub path: String,
    pub line: usize,
}

/// For each module, the modules that it depends on and the first place where it depends on each.
pub type Dependencies = Vec<BTreeMap<ModuleId, Example>>;

pub fn find(krate: &Crate) -> Dependencies {
    (0..krate.modules.len()).map(|module| of_module(krate, module)).collect()
}

fn of_module(krate: &Crate, id: ModuleId) -> BTreeMap<ModuleId, Example> {
    let module = &krate.modules[id];
    let mut found = BTreeMap::new();
    if module.generated {
        return found;
    }
    let imports = module.uses.iter().map(|import| {
        (&import.path, import.line, import.exported, import.exported && import.name.is_none())
    });
    let mentions =
        module.mentions.iter().map(|mention| (&mention.path, mention.line, false, false));
    for (path, line, exported, all) in imports.chain(mentions) {
        for target in names::resolve(krate, id, path) {
            // Importing a module isn't a dependency, but naming one of its items through the import
            // is.
            let other = match target {
                Target::ItemOf(other) => other,
                Target::Module(other) if all => other,
                Target::Module(_) => continue,
            };
            // A parent's re-export of its children isn't a dependency. If the parent also uses the
            // name in its code, that is recorded as a mention.
            if other != id && !(exported && krate.is_inside(other, id)) {
                let example = || Example { path: path.join("::"), line };
                found.entry(other).or_insert_with(example);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the dependencies in a crate's source, each as `FROM TO` without the leading
    /// `crate::`.
    fn dependencies(source: &str) -> Vec<String> {
        let krate = Crate::parse(source).expect("the source parses");
        let short = |id: ModuleId| {
            let path = &krate.modules[id].path;
            path.strip_prefix("crate::").unwrap_or(path).to_owned()
        };
        let mut pairs = Vec::new();
        for (from, found) in find(&krate).iter().enumerate() {
            pairs.extend(found.keys().map(|&to| format!("{} {}", short(from), short(to))));
        }
        pairs.sort();
        pairs
    }

    #[test]
    fn an_import_is_a_dependency_on_the_defining_module() {
        let source = "
            mod a { use crate::b::{self, Item as Renamed}; }
            mod b { pub struct Item; }
        ";
        assert_eq!(dependencies(source), ["a b"]);
    }

    #[test]
    fn inline_paths_count_as_imports_do() {
        let source = "
            mod a { fn f() -> super::b::Item { crate::c::make::<self::own::T>() }
                    mod own { pub struct T; } }
            mod b { pub struct Item; }
            mod c { pub fn make() {} }
        ";
        assert_eq!(dependencies(source), ["a a::own", "a b", "a c"]);
    }

    #[test]
    fn re_exports_are_followed_and_add_no_dependency_to_the_parent() {
        let source = "
            mod parent { mod child { pub struct Item; } pub use child::Item; pub use self::more::*;
                         mod more { pub struct Other; use super::Item; } }
            mod user { use crate::parent::{Item, Other}; }
        ";
        let expected = ["parent::more parent::child", "user parent::child", "user parent::more"];
        assert_eq!(dependencies(source), expected);
    }

    #[test]
    fn a_re_exported_name_that_the_parent_uses_is_a_dependency() {
        let source = "
            mod parent { mod child { pub struct Item; } pub use child::Item; fn f(_: Item) {} }
        ";
        assert_eq!(dependencies(source), ["parent parent::child"]);
    }

    #[test]
    fn paths_through_an_imported_module_count_and_its_import_does_not() {
        let source = "
            mod a { use crate::b; fn f() { b::inner::g() } }
            mod b { pub mod inner { pub fn g() {} } pub fn h() {} }
            mod c { use crate::b; }
        ";
        assert_eq!(dependencies(source), ["a b::inner"]);
    }

    #[test]
    fn names_of_a_glob_import_count_where_they_are_used() {
        let source = "
            mod a { use super::*; fn f(x: X) {} }
            pub struct X;
            mod b { use super::*; }
        ";
        assert_eq!(dependencies(source), ["a crate"]);
    }

    #[test]
    fn tests_and_other_crates_do_not_count() {
        let source = "
            mod a { use std::b::Item; #[cfg(test)] use crate::b::Item;
                    #[cfg(all(test, not(loom)))] mod tests { use crate::b::Item; }
                    #[cfg(test)] fn f() { crate::b::g() } fn h() { ::b::g(); b::g(); }
                    impl T { #[cfg(test)] fn g() { crate::b::g() } }
                    #[cfg(not(test))] fn i() { crate::c::g() } }
            mod b { pub struct Item; pub fn g() {} }
            mod c { pub fn g() {} }
        ";
        assert_eq!(dependencies(source), ["a c"]);
    }

    #[test]
    fn arguments_of_macros_count_and_names_of_macros_do_not() {
        let source = "
            mod a { entries! { fn f() { crate::b::g(x.c) } } fn h() { crate::c::say!(1) } }
            mod b { define! { pub fn g(); } }
            mod c { pub fn g() {} }
            mod d { use crate::a::f; use crate::b::put_together; }
        ";
        assert_eq!(dependencies(source), ["a b", "d a", "d b"]);
    }

    #[test]
    fn variants_and_associated_items_belong_to_their_type() {
        let source = "
            mod a { use crate::b::Kind; use crate::b::Kind::One; fn f() { Kind::new() } }
            mod b { pub use super::c::Kind; }
            mod c { pub enum Kind { One } }
        ";
        assert_eq!(dependencies(source), ["a c", "b c"]);
    }

    #[test]
    fn re_exports_of_other_modules_are_dependencies() {
        let source = "
            mod a { pub use super::b::Item; pub struct Other; }
            mod b { use super::a::Other; pub struct Item; }
            mod c { pub use super::d::*; pub use super::b; }
            mod d { mod below { pub use super::Up; } pub use below::*; pub struct Up; }
        ";
        assert_eq!(dependencies(source), ["a b", "b a", "c d", "d::below d"]);
    }

    #[test]
    fn macros_count_by_import_by_path_and_by_scope() {
        let source = "
            #[macro_use] mod a { macro_rules! near { () => {} }
                                 macro_rules! say { () => { $crate::x::g() } } pub(crate) use say; }
            mod b { use crate::a::say; fn f() { say!() } }
            mod c { use crate::b; fn f() { crate::a::say!(); b::g!() } }
            mod d { macro_rules! own { () => {} } fn f() { own!(); assert!(true) } }
            mod e { #[macro_export] macro_rules! far { () => {} } }
            mod f { fn g() { crate::far!() } }
            mod g { use super::x::near; fn f() { near!() } }
            mod h { fn f() { near!() } }
            mod x { pub fn g() {} pub use other::near; }
        ";
        assert_eq!(dependencies(source), ["a x", "b a", "c a", "f e", "h a"]);
    }

    #[test]
    fn imports_inside_functions_count() {
        let source = "
            mod a { fn f() { use crate::{b::{Item as I, g}, c::*}; } }
            mod b { pub struct Item; pub fn g() {} }
            mod c { pub struct Item; }
        ";
        assert_eq!(dependencies(source), ["a b"]);
    }

    #[test]
    fn circular_re_exports_end() {
        let source = "
            mod a { pub use super::b::*; pub struct X; }
            mod b { pub use super::a::*; }
            mod c { use super::b::X; }
        ";
        assert_eq!(dependencies(source), ["a b", "b a", "c a"]);
    }
}
