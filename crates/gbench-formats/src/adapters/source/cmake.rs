//! Programs in CMake files, for the harnesses of C++: their sources, their libraries, and where the build puts them.
//!
//! A reader of the language, not an interpreter: it knows `set`, `foreach` over words and `option`, evaluates neither
//! conditions nor the project's own functions, and gives up on a name that it cannot work out. It skips the contents of
//! `if(FALSE)`.

mod place;
mod syntax;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use self::place::{Properties, joined, marked};
use self::syntax::{CMakeCommand, commands};
use super::paths::{below, folder, leaf, stem};
use super::quoting::quoted;
use crate::adapters::interface::source_tree::{BuildStep, FoundBenchmark, SourceTree};
use gbench_model::text::count;

const FILE: &str = "CMakeLists.txt";
/// `-j` alone starts one compiler per file, which needs more memory than a runner has.
const JOBS: &str = "-j $(nproc)";

/// A target whose program the reader cannot place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoPlace {
    pub target: String,
    pub file: String,
    /// The part of the place that is not understood.
    pub part: String,
    /// The line for `sh` that builds it.
    pub shell: String,
}

impl NoPlace {
    /// One sentence about all of them, with the advice for the first. `what`: what these programs are. `None`: there are none.
    pub fn sentence(all: &[Self], what: &str) -> Option<String> {
        let first = all.first()?;
        let NoPlace { target, file, part, shell } = first;
        let place = format!("`{target}` of {file}, and where its program lies is not understood (`{part}`)");
        let by_hand = format!("write `build = {{ shell = \"{shell}\" }}` and its `command` by hand");
        Some(match all.len() - 1 {
            0 => format!("{what}: {place}: {by_hand}"),
            more => format!("{what}: {place}, and {} like it: {by_hand}", count(more, "more target")),
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CMakeTarget {
    pub name: String,
    pub file: String,
    /// Paths from the tree's root; sources outside of the tree are omitted.
    pub sources: Vec<String>,
    /// Words of `target_link_libraries`.
    pub links: Vec<String>,
    /// Folder of the outermost CMakeLists.txt above it, which is configured.
    root: String,
    /// Its file's folder below the build folder.
    below: String,
    /// The folder for programs that its file's variables set, unexpanded.
    directory: Option<String>,
    /// Path of the program from the tree's root. Errors: the part that is not understood.
    program: Result<String, String>,
    /// Options that name benchmarks and are off.
    options: Vec<String>,
}

impl CMakeTarget {
    /// The proposal to build and run it.
    pub(crate) fn found(&self, why: &str) -> Result<FoundBenchmark, NoPlace> {
        let (_, configure) = configured(&self.root, &self.options);
        let shell = format!("{configure} --target {} {JOBS}", quoted(&self.name));
        // The file itself may also declare programs of other harnesses.
        let files = if self.sources.is_empty() { vec![self.file.clone()] } else { self.sources.clone() };
        let program = self.program.as_ref().map_err(|part| NoPlace {
            target: self.name.clone(),
            file: self.file.clone(),
            part: part.clone(),
            shell: shell.clone(),
        })?;
        Ok(FoundBenchmark {
            name: self.name.clone(),
            command: vec![format!("./{program}")],
            build: Some(BuildStep::Shell(shell)),
            binaries: vec!["cmake".into(), "c++".into()],
            files,
            why: why.to_owned(),
            ..FoundBenchmark::default()
        })
    }

    pub(crate) fn links_one_of(&self, libraries: &[&str]) -> bool {
        self.links.iter().any(|link| libraries.contains(&link.as_str()))
    }
}

pub(crate) struct Tests {
    pub root: String,
    pub tests: Vec<DeclaredTest>,
    pub files: Vec<String>,
    options: Vec<String>,
}

impl Tests {
    /// The build folder, and the line for `sh` that builds all.
    pub(crate) fn built(&self) -> (String, String) {
        let (build, configure) = configured(&self.root, &self.options);
        (build, format!("{configure} {JOBS}"))
    }
}

/// The build folder, and the line for `sh` without the targets.
fn configured(root: &str, options: &[String]) -> (String, String) {
    let build = below(root, "build");
    let source = quoted(if root.is_empty() { "." } else { root });
    let options: String = options.iter().map(|name| format!(" -D{}=ON", quoted(name))).collect();
    let folder = quoted(&build);
    let shell = format!(
        "cmake -S {source} -B {folder} -DCMAKE_BUILD_TYPE=Release{options} && cmake --build {folder}"
    );
    (build, shell)
}

pub(crate) struct DeclaredTest {
    pub name: String,
    /// The first word of its command; for `$<TARGET_FILE:name>` the name.
    pub program: String,
}

pub(crate) fn targets(tree: &dyn SourceTree) -> Vec<CMakeTarget> {
    declared(tree).0
}

/// The programs that CMake builds in a tree, for any harness.
pub struct CMakePrograms(Vec<CMakeTarget>);

impl CMakePrograms {
    /// Reads every CMake file of the tree.
    pub fn of(tree: &dyn SourceTree) -> Self {
        Self(targets(tree))
    }

    /// The program of a source; `None` if no understood target has it. Errors: as those of a target.
    pub fn program(&self, source: &str) -> Option<Result<FoundBenchmark, NoPlace>> {
        let has = |target: &&CMakeTarget| target.sources.iter().any(|path| path == source);
        let target = self.0.iter().find(has)?;
        Some(target.found(&format!("a target of CMake has {source}, which has a main function")))
    }
}

pub(crate) fn tests(tree: &dyn SourceTree) -> Vec<Tests> {
    declared(tree).1
}

fn declared(tree: &dyn SourceTree) -> (Vec<CMakeTarget>, Vec<Tests>) {
    let mut files: Vec<&String> = tree.files().iter().filter(|path| leaf(path) == FILE).collect();
    // Variables of a folder apply to the folders below it.
    files.sort_by_key(|path| path.matches('/').count());
    let mut scopes: HashMap<&str, HashMap<String, Vec<String>>> = HashMap::new();
    let folders: Vec<&str> = files.iter().map(|path| folder(path)).collect();
    let (mut targets, mut tests): (Vec<CMakeTarget>, Vec<Tests>) = (Vec::new(), Vec::new());
    let mut options: HashMap<&str, Vec<String>> = HashMap::new();
    let mut properties = Properties::default();
    for path in &files {
        let here = folder(path);
        let root = folders.iter().copied().filter(|above| within(here, above).is_some());
        let root = root.min_by_key(|above| above.len()).unwrap_or(here);
        let Some(text) = tree.text(path) else { continue };
        let above = scopes.iter().filter(|(folder, _)| within(here, folder).is_some());
        let above = above.max_by_key(|(folder, _)| folder.len()).map(|(_, variables)| variables);
        let mut reader = Reader {
            path,
            here,
            root,
            tree,
            variables: above.cloned().unwrap_or_default(),
            targets: Vec::new(),
            tests: Vec::new(),
            options: options.entry(root).or_default(),
            properties: &mut properties,
        };
        reader.run(&commands(&text));
        targets.append(&mut reader.targets);
        let variables = std::mem::take(&mut reader.variables);
        let declared = std::mem::take(&mut reader.tests);
        scopes.insert(here, variables);
        if declared.is_empty() {
            continue;
        }
        match tests.iter_mut().find(|tests| tests.root == root) {
            Some(tests) => {
                tests.tests.extend(declared);
                tests.files.push((*path).clone());
            }
            None => tests.push(Tests {
                root: root.to_owned(),
                tests: declared,
                files: vec![(*path).clone()],
                options: Vec::new(),
            }),
        }
    }
    for target in &mut targets {
        target.options = options.get(target.root.as_str()).cloned().unwrap_or_default();
        let CMakeTarget { name, root, below, directory, .. } = &*target;
        target.program = properties.program(name, (root, below), directory.as_ref());
    }
    for tests in &mut tests {
        tests.options = options.get(tests.root.as_str()).cloned().unwrap_or_default();
    }
    (targets, tests)
}

fn within<'p>(path: &'p str, above: &str) -> Option<&'p str> {
    if above.is_empty() || path == above {
        return Some(path.strip_prefix(above).unwrap_or(path));
    }
    path.strip_prefix(above)?.strip_prefix('/')
}

struct Reader<'t> {
    path: &'t str,
    here: &'t str,
    root: &'t str,
    tree: &'t dyn SourceTree,
    variables: HashMap<String, Vec<String>>,
    targets: Vec<CMakeTarget>,
    tests: Vec<DeclaredTest>,
    options: &'t mut Vec<String>,
    properties: &'t mut Properties,
}

impl Reader<'_> {
    fn run(&mut self, commands: &[CMakeCommand]) {
        let mut at = 0;
        while let Some(command) = commands.get(at) {
            at += 1;
            if command.name == "if" && syntax::is_false(&command.words) {
                at += syntax::branch(&commands[at..]);
                continue;
            }
            if command.name != "foreach" {
                self.command(command);
                continue;
            }
            let body = &commands[at..];
            let ends = |command: &CMakeCommand| command.name == "endforeach" || command.name == "foreach";
            let length = body.iter().position(ends).unwrap_or(body.len());
            at += length;
            let words = self.expanded(&command.words);
            let Some((variable, items)) = words.split_first() else { continue };
            let lists = items.first().is_some_and(|word| word == "IN");
            let mut items: Vec<String> = items.to_vec();
            if lists {
                items = items
                    .iter()
                    .filter(|word| !["IN", "LISTS", "ITEMS"].contains(&word.as_str()))
                    .flat_map(|word| self.variables.get(word).cloned().unwrap_or(vec![word.clone()]))
                    .collect();
            }
            for item in items {
                self.variables.insert(variable.clone(), vec![item]);
                self.run(&body[..length]);
            }
        }
    }

    fn command(&mut self, command: &CMakeCommand) {
        let places = ["set", "set_target_properties", "set_property"].contains(&command.name.as_str());
        let words = if places { marked(&command.words) } else { command.words.clone() };
        let words = self.expanded(&words);
        let (Some(first), rest) = (words.first().cloned(), words.get(1..).unwrap_or_default()) else {
            return;
        };
        match command.name.as_str() {
            "project" => {
                for name in ["PROJECT_NAME", "CMAKE_PROJECT_NAME"] {
                    self.variables.insert(name.into(), vec![first.clone()]);
                }
                let below = within(self.here, self.root).unwrap_or_default();
                self.variables.insert("PROJECT_BINARY_DIR".into(), vec![place::built(below)]);
                self.variables.insert("PROJECT_SOURCE_DIR".into(), vec![format!("/{}", self.here)]);
            }
            "set" => {
                let ends = |word: &&String| ["CACHE", "PARENT_SCOPE"].contains(&word.as_str());
                let value = rest.iter().take_while(|word| !ends(word)).cloned().collect();
                self.variables.insert(first, value);
            }
            "unset" => _ = self.variables.remove(&first),
            "set_target_properties" => self.properties.of_targets(&words),
            "set_property" if first == "TARGET" => self.properties.of_one(rest),
            "list" if first == "APPEND" => {
                if let Some((name, more)) = rest.split_first() {
                    self.variables.entry(name.clone()).or_default().extend(more.iter().cloned());
                }
            }
            "file" if first.starts_with("GLOB") => {
                if let Some((name, patterns)) = rest.split_first() {
                    let files = patterns.iter().flat_map(|pattern| self.matching(pattern)).collect();
                    self.variables.insert(name.clone(), files);
                }
            }
            "get_filename_component" if rest.get(1).is_some_and(|how| how.starts_with("NAME_W")) => {
                self.variables.insert(first, vec![stem(&rest[0]).to_owned()]);
            }
            "get_filename_component" if rest.get(1).is_some_and(|how| how == "NAME") => {
                self.variables.insert(first, vec![leaf(&rest[0]).to_owned()]);
            }
            "option" => {
                let off = !rest.last().is_some_and(|word| word.eq_ignore_ascii_case("on"));
                if off && first.to_ascii_uppercase().contains("BENCH") && !self.options.contains(&first) {
                    self.options.push(first);
                }
            }
            "add_test" => {
                // The old form lacks the words NAME and COMMAND.
                let named = first == "NAME";
                let name = if named { rest.first().cloned() } else { Some(first) };
                let mut command = rest.iter().skip_while(|word| named && *word != "COMMAND");
                let program = command.nth(usize::from(named)).map_or("", String::as_str);
                let target = program.strip_prefix("$<TARGET_FILE:").and_then(|rest| rest.strip_suffix('>'));
                let program = target.unwrap_or(program).to_owned();
                let name = name.filter(|name| !name.contains("${"));
                self.tests.extend(name.map(|name| DeclaredTest { name, program }));
            }
            "add_executable" if !first.contains('$') => self.add(first, rest),
            "target_sources" | "target_link_libraries" => {
                let sources: Vec<String> = rest.iter().filter_map(|word| self.source(word)).collect();
                if let Some(target) = self.targets.iter_mut().find(|target| target.name == first) {
                    if command.name == "target_sources" {
                        target.sources.extend(sources);
                    } else {
                        target.links.extend(rest.iter().cloned());
                    }
                }
            }
            _ => {}
        }
    }

    fn add(&mut self, name: String, words: &[String]) {
        let below = within(self.here, self.root).unwrap_or_default();
        let set = |name: &&str| self.variables.get(*name)?.first().cloned();
        self.targets.push(CMakeTarget {
            below: below.to_owned(),
            directory: place::VARIABLES.iter().find_map(set),
            program: Err(String::new()),
            name,
            file: self.path.to_owned(),
            sources: words.iter().filter_map(|word| self.source(word)).collect(),
            links: Vec::new(),
            root: self.root.to_owned(),
            options: Vec::new(),
        });
    }

    fn source(&self, word: &str) -> Option<String> {
        let path = self.whole(word);
        self.tree.files().binary_search(&path).is_ok().then_some(path)
    }

    fn whole(&self, word: &str) -> String {
        word.strip_prefix('/').map_or_else(|| joined(self.here, word), |whole| joined("", whole))
    }

    fn matching(&self, pattern: &str) -> Vec<String> {
        let whole = self.whole(pattern);
        let Some((start, end)) = whole.split_once('*') else { return Vec::new() };
        let inside = |path: &&String| {
            path.len() >= start.len() + end.len()
                && path.starts_with(start)
                && path.ends_with(end)
                && !path[start.len()..path.len() - end.len()].contains('/')
        };
        self.tree.files().iter().filter(inside).map(|path| format!("/{path}")).collect()
    }

    /// Words with known variables expanded. Paths of the source tree then begin with `/`.
    fn expanded(&self, words: &[String]) -> Vec<String> {
        let mut out = Vec::new();
        for word in words {
            let whole = word.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
            if let Some(list) = whole.and_then(|name| self.variables.get(name)) {
                out.extend(list.iter().cloned());
                continue;
            }
            let mut text = word
                .replace("${CMAKE_CURRENT_SOURCE_DIR}", &format!("/{}", self.here))
                .replace("${CMAKE_SOURCE_DIR}", &format!("/{}", self.root))
                .replace("${CMAKE_BINARY_DIR}", &place::built(""))
                .replace(
                    "${CMAKE_CURRENT_BINARY_DIR}",
                    &place::built(within(self.here, self.root).unwrap_or_default()),
                );
            for (name, value) in &self.variables {
                if text.contains("${") {
                    text = text.replace(&format!("${{{name}}}"), &value.join(" "));
                }
            }
            // If no `project` was read.
            let text = text.replace("${PROJECT_SOURCE_DIR}", &format!("/{}", self.root));
            out.push(text.replace("${PROJECT_BINARY_DIR}", &place::built("")));
        }
        out
    }
}
