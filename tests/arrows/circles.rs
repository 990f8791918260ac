//! Which file uses what another one defines, read from the imports and the paths, and the circles in that graph. Names are
//! followed through re-exports to the file that defines them, so that a folder's `mod.rs` hides nothing.

use std::collections::{BTreeMap, BTreeSet};

use super::pattern;

/// A file as the reader of imports needs it: its path below `src/` and its code that ships, without comments.
pub struct Source<'a> {
    pub path: &'a str,
    pub code: &'a str,
}

/// `["report", "layout"]` for `report/layout.rs` and for `report/layout/mod.rs`.
type ModulePath = Vec<String>;

/// What a module makes known under names.
#[derive(Default)]
struct Scope {
    file: String,
    /// Items that the file defines.
    own: BTreeSet<String>,
    /// Names that imports bring in, with the path that each stands for.
    imported: BTreeMap<String, Vec<String>>,
    /// Modules of which everything is imported.
    globs: Vec<Vec<String>>,
}

struct Import {
    path: Vec<String>,
    name: String,
    is_reexport: bool,
}

/// Where a path ends.
enum Target {
    Module(ModulePath),
    File(String),
}

struct Crate {
    scopes: BTreeMap<ModulePath, Scope>,
}

/// For each file the others whose items it uses.
pub fn graph(sources: &[Source]) -> BTreeMap<String, BTreeSet<String>> {
    let known = Crate::new(sources);
    sources.iter().map(|source| (source.path.to_owned(), known.used_by(source))).collect()
}

/// Files that use each other, directly or by way of others: each circle once, in order.
pub fn circles(graph: &BTreeMap<String, BTreeSet<String>>) -> Vec<BTreeSet<String>> {
    let reached = |start: &String| {
        let mut seen = BTreeSet::new();
        let mut open = vec![start];
        while let Some(file) = open.pop() {
            for next in graph.get(file).into_iter().flatten() {
                if seen.insert(next.clone()) {
                    open.push(next);
                }
            }
        }
        seen
    };
    let reach: BTreeMap<&String, BTreeSet<String>> = graph.keys().map(|file| (file, reached(file))).collect();
    let mut found: BTreeSet<BTreeSet<String>> = BTreeSet::new();
    for (file, reaches) in &reach {
        let circle: BTreeSet<String> = reaches
            .iter()
            .filter(|other| reach.get(other).is_some_and(|of| of.contains(*file)))
            .cloned()
            .collect();
        if circle.len() > 1 {
            found.insert(circle);
        }
    }
    found.into_iter().collect()
}

impl Crate {
    fn new(sources: &[Source]) -> Self {
        let item = pattern(
            r"(?m)^(?:pub(?:\([^)]*\))? )?(?:const |async |unsafe )*(?:struct|enum|trait|type|fn|const|static|macro_rules!|union) (?:mut )?(\w+)",
        );
        let scope = |source: &Source| {
            let mut scope = Scope { file: source.path.to_owned(), ..Scope::default() };
            scope.own = item.captures_iter(source.code).map(|found| found[1].to_owned()).collect();
            for import in imports(source.code) {
                if import.name == "*" {
                    scope.globs.push(import.path);
                } else {
                    scope.imported.insert(import.name, import.path);
                }
            }
            (module_of(source.path), scope)
        };
        Self { scopes: sources.iter().map(scope).collect() }
    }

    fn used_by(&self, source: &Source) -> BTreeSet<String> {
        let module = module_of(source.path);
        let imports = imports(source.code);
        let statement = pattern(r"(?ms)^\s*(?:pub(?:\([^)]*\))? )?use [^;]*;");
        let body = statement.replace_all(source.code, "");
        let words: BTreeSet<&str> = body.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        let mut used = BTreeSet::new();
        let mut add = |path: &[String]| {
            if let Some(Target::File(file)) = self.resolve(&module, path, 0) {
                used.insert(file);
            }
        };
        for import in &imports {
            if import.name == "*" && !import.is_reexport {
                // Whatever of it stands in the code.
                for word in &words {
                    let path: Vec<String> = import.path.iter().cloned().chain([(*word).to_owned()]).collect();
                    add(&path);
                }
            } else if !import.is_reexport || words.contains(import.name.as_str()) {
                add(&import.path);
            }
        }
        let path = pattern(r"\b[A-Za-z_]\w*(?:::[A-Za-z_]\w*)+");
        for found in path.find_iter(&body) {
            let path: Vec<String> = found.as_str().split("::").map(str::to_owned).collect();
            add(&path);
        }
        used.remove(source.path);
        used
    }

    /// Follows a path from within a module. `None`: it leads out of the crate, or to a name that a macro makes.
    fn resolve(&self, from: &ModulePath, path: &[String], depth: usize) -> Option<Target> {
        // Globs may import each other.
        if depth > 12 {
            return None;
        }
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => self.walk(&Vec::new(), rest, depth),
            "self" => self.walk(from, rest, depth),
            "super" => self.walk(&from.split_last()?.1.to_vec(), rest, depth),
            _ => self.walk(from, path, depth),
        }
    }

    fn walk(&self, module: &ModulePath, path: &[String], depth: usize) -> Option<Target> {
        let Some((name, rest)) = path.split_first() else { return Some(Target::Module(module.clone())) };
        if name == "super" {
            return self.walk(&module.split_last()?.1.to_vec(), rest, depth);
        }
        let child: ModulePath = module.iter().cloned().chain([name.clone()]).collect();
        let scope = self.scopes.get(module)?;
        // A function may be called as a module is: the longer path is the module's.
        if self.scopes.contains_key(&child) && (!rest.is_empty() || !scope.own.contains(name)) {
            if rest.is_empty() && scope.imported.get(name).is_some_and(|path| path.len() > 1) {
                return self.resolve(module, &scope.imported[name], depth + 1);
            }
            return self.walk(&child, rest, depth);
        }
        if scope.own.contains(name) {
            return Some(Target::File(scope.file.clone()));
        }
        let through = |path: &[String]| match self.resolve(module, path, depth + 1)? {
            Target::Module(module) => self.walk(&module, rest, depth + 1),
            file => Some(file),
        };
        if let Some(path) =
            scope.imported.get(name).filter(|path| path.first() != Some(name) || path.len() > 1)
        {
            return through(path);
        }
        scope.globs.iter().find_map(|glob| {
            let path: Vec<String> = glob.iter().cloned().chain([name.clone()]).collect();
            through(&path)
        })
    }
}

fn module_of(path: &str) -> ModulePath {
    let path = path.strip_suffix(".rs").unwrap_or(path);
    let mut parts: ModulePath = path.split('/').map(str::to_owned).collect();
    if parts.last().is_some_and(|last| last == "mod") || path == "lib" || path == "main" {
        parts.pop();
    }
    parts
}

/// Every name that the imports of a file bring in, wherever they stand; those for tests alone left out.
fn imports(code: &str) -> Vec<Import> {
    let statement =
        pattern(r"(?ms)^(?P<test>#\[cfg\(test\)\]\n)?\s*(?P<public>pub(?:\([^)]*\))? )?use (?P<tree>[^;]*);");
    let mut found = Vec::new();
    for statement in statement.captures_iter(code).filter(|statement| statement.name("test").is_none()) {
        let is_reexport = statement.name("public").is_some();
        let mut paths = Vec::new();
        spread(&statement["tree"], &[], &mut paths);
        found.extend(paths.into_iter().map(|(path, name)| Import { path, name, is_reexport }));
    }
    found
}

/// The paths of a tree `a::{b, c::{self, D as E}, f::*}`, each with the name under which it is known; `*` for all of a module.
fn spread(tree: &str, before: &[String], into: &mut Vec<(Vec<String>, String)>) {
    let tree = tree.trim();
    let (head, list) = match tree.find('{') {
        Some(at) => (tree[..at].trim_end_matches("::"), Some(&tree[at + 1..tree.rfind('}').unwrap()])),
        None => (tree, None),
    };
    let (head, alias) = head.split_once(" as ").unwrap_or((head, ""));
    let parts = head.split("::").map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned);
    let mut path: Vec<String> = before.iter().cloned().chain(parts).collect();
    let Some(list) = list else {
        if path.last().is_some_and(|last| last == "self") && path.len() > 1 {
            path.pop();
        }
        let Some(last) = path.last().cloned() else { return };
        let name = if alias.is_empty() { last.clone() } else { alias.trim().to_owned() };
        if last == "*" {
            path.pop();
        }
        into.push((path, name));
        return;
    };
    let (mut depth, mut start) = (0, 0);
    for (at, c) in list.char_indices().chain([(list.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                if !list[start..at].trim().is_empty() {
                    spread(&list[start..at], &path, into);
                }
                start = at + 1;
            }
            _ => {}
        }
    }
}

#[test]
fn an_added_circle_is_found_through_reexports_and_across_modules() {
    let circles_of = |files: &[(&str, &str)]| {
        let sources: Vec<Source> = files.iter().map(|(path, code)| Source { path, code }).collect();
        circles(&graph(&sources))
            .into_iter()
            .map(|circle| circle.into_iter().collect::<Vec<_>>().join(" "))
            .collect::<Vec<_>>()
    };
    let view = ("report/view.rs", "use super::summary::Suite;\npub struct View(Suite);\npub fn word() {}");
    let module = ("report/mod.rs", "mod view;\nmod summary;\npub use self::view::{View, word as said};\n");
    let lib = ("lib.rs", "pub mod report;\npub mod cli;");
    let clean = ("report/summary.rs", "use std::io;\npub struct Suite;");
    assert_eq!(circles_of(&[lib, module, view, clean]), [""; 0]);
    let circle = ["report/summary.rs report/view.rs"];
    for back in [
        "use super::view::word;\npub struct Suite;",
        "use super::view;\npub struct Suite;\nfn f() { view::word() }",
        "use crate::report::{self, said};\npub struct Suite;",
        "pub struct Suite;\nfn f() { crate::report::said() }",
        "use super::*;\npub struct Suite;\nfn f() -> View {}",
        "pub struct Suite;\nfn f() {\n    use super::{\n        view::View,\n    };\n}",
    ] {
        assert_eq!(circles_of(&[lib, module, view, ("report/summary.rs", back)]), circle, "{back}");
    }
    let other = ("cli/run.rs", "use crate::report::View;\npub fn run() {}");
    let back = ("report/summary.rs", "pub struct Suite;\nfn f() { crate::cli::run::run() }");
    let cli = ("cli/mod.rs", "pub mod run;");
    assert_eq!(
        circles_of(&[lib, module, view, back, cli, other]),
        ["cli/run.rs report/summary.rs report/view.rs"]
    );
    // A mod.rs that only hands on is part of no circle; one that uses what its files use is.
    let user = (
        "report/mod.rs",
        "mod view;\nmod summary;\nuse self::view::View;\npub struct Options;\nfn f(v: View) {}",
    );
    let below = ("report/summary.rs", "use super::Options;\npub struct Suite(Options);");
    assert_eq!(circles_of(&[lib, user, view, below]), ["report/mod.rs report/summary.rs report/view.rs"]);
}
