//! Benchmarks that Cargo builds and starts: their targets in a tree, and the arguments for their command.

use std::collections::{BTreeMap, BTreeSet};

use super::paths;
use super::quoting::quoted;
use crate::adapters::interface::prelude::*;

/// Arguments for a bench target. `cargo bench` passes on the words after `--`, and adds `--bench` itself; a program that
/// is started without Cargo needs that flag from us, because without it most harnesses only test.
pub(crate) fn invocation(command: &[String], more: Vec<String>) -> Invocation {
    if !is_cargo(command) {
        let bench = (!command.iter().any(|word| word == "--bench")).then(|| "--bench".to_owned());
        return Invocation::of(command, bench.into_iter().chain(more));
    }
    let dashes = (!command.iter().any(|word| word == "--")).then(|| "--".to_owned());
    Invocation::of(command, dashes.into_iter().chain(more))
}

/// Also after other words, such as `taskset -c 2 cargo bench`.
pub(crate) fn is_cargo(command: &[String]) -> bool {
    command.iter().any(|word| Program { command: std::slice::from_ref(word), bytes: b"" }.name() == "cargo")
}

/// A program that `cargo bench` built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Executable {
    pub path: String,
    /// The folder in which Cargo starts it: that of its package.
    pub dir: String,
}

/// A command with which Cargo starts one benchmark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CargoBench {
    /// Variables that `env` before `cargo` sets, for both.
    pub env: Vec<(String, String)>,
    /// The words that build it and report its path, see [`executable`].
    pub messages: Vec<String>,
    pub target: String,
    /// Arguments for the benchmark itself.
    pub own: Vec<String>,
}

/// Parses `cargo bench ... --bench NAME -- ...`. Cargo needs most of a second to find that there is nothing to build,
/// which a counter would include. `None`: another command, or one with words before `cargo` other than `env NAME=value`.
pub fn cargo_bench(command: &[String]) -> Option<CargoBench> {
    let (env, command) = variables(command);
    let (program, words) = command.split_first()?;
    let is_cargo = is_cargo(std::slice::from_ref(program));
    if !is_cargo || words.first().map(String::as_str) != Some("bench") {
        return None;
    }
    let dashes = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let (cargos, own) = words.split_at(dashes);
    let mut targets = cargos.iter().enumerate().filter_map(|(at, word)| match word.strip_prefix("--bench") {
        Some("") => cargos.get(at + 1).cloned(),
        Some(rest) => rest.strip_prefix('=').map(str::to_owned),
        None => None,
    });
    let target = targets.next()?;
    if targets.next().is_some() {
        return None;
    }
    let more = ["--no-run", "--message-format=json"].map(str::to_owned);
    let messages = [program.clone()].into_iter().chain(cargos.iter().cloned()).chain(more).collect();
    Some(CargoBench { env, messages, target, own: own.get(1..).unwrap_or_default().to_vec() })
}

/// The variables that `env NAME=value ...` sets, and the command after it. `env` with flags is unchanged.
fn variables(command: &[String]) -> (Vec<(String, String)>, &[String]) {
    let is_env = |word: &String| Program { command: std::slice::from_ref(word), bytes: b"" }.name() == "env";
    let Some((_, words)) = command.split_first().filter(|(program, _)| is_env(program)) else {
        return (Vec::new(), command);
    };
    let set = |word: &String| {
        let (name, value) = word.split_once('=')?;
        (!name.is_empty() && !name.starts_with('-')).then(|| (name.to_owned(), value.to_owned()))
    };
    let env: Vec<_> = words.iter().map_while(set).collect();
    let rest = &words[env.len()..];
    (env, rest)
}

/// The program that `cargo bench --no-run --message-format=json ...` built for the benchmark, or for the library with
/// benchmarks, of that name: without guessing which file in `target/release/deps` is current. `None`: no program, or
/// several.
pub fn executable(messages: &[u8], name: &str) -> Option<Executable> {
    let mut found = messages.split(|byte| *byte == b'\n').filter_map(|line| {
        let message: serde_json::Value = serde_json::from_slice(line).ok()?;
        let target = &message["target"];
        let kinds = target["kind"].as_array()?;
        // A library that is not a test has no program, and a program of the package may have the benchmark's name.
        let wanted = message["reason"] == "compiler-artifact"
            && target["name"] == name
            && !kinds.iter().any(|kind| kind == "bin" || kind == "example");
        let manifest = message["manifest_path"].as_str()?;
        let path = wanted.then(|| message["executable"].as_str()).flatten()?.to_owned();
        let dir = paths::folder(manifest).to_owned();
        Some(Executable { path, dir })
    });
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

/// A `[[bench]]` of a package, or a file of `benches/` that Cargo finds by itself.
pub(crate) struct DeclaredTarget {
    pub name: String,
    /// Folder of the package, relative to the tree's root.
    pub dir: String,
    pub manifest: String,
    pub package: String,
    pub path: String,
    /// `false`: it has its own `main`, from a harness or by hand.
    pub harness: bool,
    features: Vec<String>,
    /// The version requirements of the package's dependencies by name.
    requirements: BTreeMap<String, String>,
    /// Its text without comments; empty if it cannot be read.
    pub text: String,
}

impl DeclaredTarget {
    /// True if the manifest asks for a version of the crate below 0.`minor`.
    pub(crate) fn asks_below(&self, name: &str, minor: u32) -> bool {
        let requirement = self.requirements.get(name).map_or("", String::as_str);
        let mut numbers = requirement.trim_start_matches(['^', '~', '=', ' ']).split('.');
        let number = numbers
            .next()
            .zip(numbers.next())
            .and_then(|(major, minor)| (major == "0").then(|| minor.trim().parse::<u32>().ok()).flatten());
        number.is_some_and(|number| number < minor)
    }

    /// A target with two mains.
    pub(crate) fn with_harness(&self, title: &str) -> TargetKind {
        let Self { path, manifest, name, .. } = self;
        TargetKind::Unclear(format!(
            "{path} uses {title}, but {manifest} does not say `harness = false` for it: add `[[bench]]` with `name = \"{name}\"` and \
             `harness = false`"
        ))
    }

    pub(crate) fn found(&self, name: &str, why: &str) -> FoundBenchmark {
        let words = |cargo: &[&str]| {
            let mut words: Vec<String> = cargo.iter().map(|word| (*word).to_owned()).collect();
            if !self.features.is_empty() {
                words.extend(["--features".into(), self.features.join(",")]);
            }
            words.extend(["--bench".into(), self.name.clone()]);
            words
        };
        FoundBenchmark {
            name: name.to_owned(),
            command: words(&["cargo", "bench", "--offline"]),
            build: Some(build(&self.dir, words(&["cargo", "bench", "--no-run"]))),
            dir: self.dir.clone(),
            binaries: vec!["cargo".into()],
            gpu: false,
            files: vec![self.path.clone()],
            why: why.to_owned(),
        }
    }
}

/// The build step of a package: in its own folder, so that the same `.cargo/config.toml` applies as when it runs.
pub(crate) fn build(dir: &str, words: Vec<String>) -> BuildStep {
    if dir.is_empty() {
        return BuildStep::Command(words);
    }
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    BuildStep::Shell(format!("cd {} && {}", quoted(dir), words.join(" ")))
}

pub(crate) enum TargetKind {
    Ours(String),
    Unclear(String),
    NotOurs,
}

/// The targets of a tree that belong to one harness, each with a unique name.
pub(crate) fn detect(tree: &dyn SourceTree, kind: impl Fn(&DeclaredTarget) -> TargetKind) -> Detected {
    let targets = targets(tree);
    let mut detected = Detected::default();
    for target in &targets {
        match kind(target) {
            TargetKind::Ours(why) => {
                let alone = targets.iter().filter(|other| other.name == target.name).count() == 1;
                let long = format!("{}-{}", target.package, target.name);
                let name = if alone { &target.name } else { &long };
                detected.found.push(target.found(name, &why));
            }
            TargetKind::Unclear(sentence) => detected.unclear(&target.path, sentence),
            TargetKind::NotOurs => {}
        }
    }
    detected
}

/// Packages of a tree: folder, manifest and its contents. A manifest that cannot be parsed is ignored: Cargo reports it.
pub(crate) fn packages(tree: &dyn SourceTree) -> Vec<(String, String, toml::Table)> {
    let manifests = tree.files().iter().filter(|path| *path == "Cargo.toml" || path.ends_with("/Cargo.toml"));
    manifests
        .filter_map(|manifest| {
            let table: toml::Table = tree.text(manifest)?.parse().ok()?;
            let dir = paths::folder(manifest).to_owned();
            table.contains_key("package").then(|| (dir, manifest.clone(), table))
        })
        .collect()
}

/// `path` from `dir`, which may begin with `./` or `../`; the tree's root is empty.
pub(crate) fn below(mut dir: &str, mut path: &str) -> String {
    loop {
        if let Some(rest) = path.strip_prefix("./") {
            path = rest;
        } else if let Some(rest) = path.strip_prefix("../").filter(|_| !dir.is_empty()) {
            (dir, path) = (paths::folder(dir), rest);
        } else {
            return paths::below(dir, path);
        }
    }
}

/// A bench target of a package in a tree, whatever its harness.
pub struct BenchTarget {
    pub name: String,
    /// Folder of its package, relative to the tree's root.
    pub dir: String,
    pub path: String,
}

pub fn cargo_benches(tree: &dyn SourceTree) -> Vec<BenchTarget> {
    let bench = |DeclaredTarget { name, dir, path, .. }| BenchTarget { name, dir, path };
    targets(tree).into_iter().map(bench).collect()
}

fn targets(tree: &dyn SourceTree) -> Vec<DeclaredTarget> {
    let mut targets = Vec::new();
    for (dir, manifest, table) in packages(tree) {
        let package = table["package"].get("name").and_then(|name| name.as_str()).unwrap_or("").to_owned();
        let auto = table["package"].get("autobenches").and_then(|auto| auto.as_bool()).unwrap_or(true);
        let exists = |path: &String| tree.files().binary_search(path).is_ok();
        let requirements = requirements(tree, &dir, &table);
        let text = |path: &str| without_comments(&tree.text(path).unwrap_or_default());
        let target = |name: &str, path: &String, harness, features| DeclaredTarget {
            name: name.to_owned(),
            dir: dir.clone(),
            manifest: manifest.clone(),
            package: package.clone(),
            harness,
            features,
            requirements: requirements.clone(),
            text: text(path),
            path: path.clone(),
        };
        let mut paths = BTreeSet::new();
        let declared = table.get("bench").and_then(|benches| benches.as_array());
        for bench in declared.into_iter().flatten() {
            let Some(name) = bench.get("name").and_then(|name| name.as_str()) else { continue };
            let given = bench.get("path").and_then(|path| path.as_str()).map(|path| below(&dir, path));
            let usual = ["benches/NAME.rs", "benches/NAME/main.rs"];
            let usual = usual.iter().map(|path| below(&dir, &path.replace("NAME", name)));
            let Some(path) = given.into_iter().chain(usual).find(exists) else { continue };
            let features = bench.get("required-features").and_then(|features| features.as_array());
            let features = features.into_iter().flatten().filter_map(|name| Some(name.as_str()?.to_owned()));
            let harness = bench.get("harness").and_then(|harness| harness.as_bool()).unwrap_or(true);
            targets.push(target(name, &path, harness, features.collect()));
            paths.insert(path);
        }
        let folder = below(&dir, "benches/");
        for path in tree.files().iter().filter(|path| auto && !paths.contains(*path)) {
            let Some(file) = path.strip_prefix(&folder) else { continue };
            let Some(name) = file.strip_suffix("/main.rs").or_else(|| file.strip_suffix(".rs")) else {
                continue;
            };
            if !name.contains('/') {
                targets.push(target(name, path, true, Vec::new()));
            }
        }
    }
    targets
}

/// Those of a package, and of its workspace where it inherits them.
fn requirements(tree: &dyn SourceTree, dir: &str, package: &toml::Table) -> BTreeMap<String, String> {
    let version = |value: &toml::Value| {
        let version = value.as_str().or_else(|| value.get("version")?.as_str());
        version.map(str::to_owned)
    };
    let workspaces = || {
        let manifests = paths::upwards(dir).filter_map(|at| tree.text(&paths::below(at, "Cargo.toml")));
        manifests.filter_map(|text| text.parse::<toml::Table>().ok()?.remove("workspace"))
    };
    let inherited = |name: &str| version(workspaces().next()?.get("dependencies")?.get(name)?);
    let tables =
        ["dependencies", "dev-dependencies"].into_iter().filter_map(|key| package.get(key)?.as_table());
    let found = tables.flatten().filter_map(|(name, value)| {
        let is_inherited = value.get("workspace").is_some();
        Some((name.clone(), if is_inherited { inherited(name) } else { version(value) }?))
    });
    found.collect()
}

/// Without comment lines: a macro that is commented out is not a harness.
pub(crate) fn without_comments(text: &str) -> String {
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    code.flat_map(|line| [line, "\n"]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_of_a_target_is_the_one_that_cargo_names() {
        let message = |kind: &str, name: &str, hash: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"/w/a/Cargo.toml","target":{{"kind":["{kind}"],"name":"{name}"}},"executable":"/w/target/{name}-{hash}"}}"#
            )
        };
        let messages = [
            message("bin", "x", "1"),
            r#"{"reason":"compiler-artifact","manifest_path":"/w/a/Cargo.toml","target":{"kind":["lib"],"name":"x"},"executable":null}"#.into(),
            "no JSON".into(),
            message("bench", "x", "2"),
            message("bench", "y", "3"),
            message("bench", "y", "4"),
            r#"{"reason":"build-finished","success":true}"#.into(),
        ]
        .join("\n");
        let found = Executable { path: "/w/target/x-2".into(), dir: "/w/a".into() };
        assert_eq!(executable(messages.as_bytes(), "x"), Some(found));
        assert_eq!(executable(message("lib", "l", "5").as_bytes(), "l").unwrap().path, "/w/target/l-5");
        assert_eq!(executable(messages.as_bytes(), "y"), None);
        assert_eq!(executable(messages.as_bytes(), "z"), None);
    }

    #[test]
    fn what_env_sets_before_cargo_is_for_the_build_and_the_program() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let taken = |line: &str| cargo_bench(&words(line));
        let plain = taken("cargo bench --bench x -- -q").unwrap();
        assert_eq!(plain.messages.join(" "), "cargo bench --bench x --no-run --message-format=json");
        let set = taken("/usr/bin/env RUSTC_BOOTSTRAP=1 A=b=c D= cargo bench --bench x -- -q").unwrap();
        let env = [("RUSTC_BOOTSTRAP", "1"), ("A", "b=c"), ("D", "")];
        let env = env.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        assert_eq!(set, CargoBench { env, ..plain });
        for other in
            ["env -i cargo bench --bench x", "env A=b make", "A=b cargo bench --bench x", "env", "env A=b"]
        {
            assert_eq!(taken(other), None, "{other}");
        }
    }

    #[test]
    fn cargo_behind_other_words_still_gets_two_dashes() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let argv = |line: &str| invocation(&words(line), vec!["--list".into()]).argv.join(" ");
        assert_eq!(argv("taskset -c 2 cargo bench"), "taskset -c 2 cargo bench -- --list");
        assert_eq!(argv("cargo bench -- --quiet"), "cargo bench -- --quiet --list");
        assert_eq!(argv("target/x-1"), "target/x-1 --bench --list");
        assert_eq!(argv("target/x-1 --bench"), "target/x-1 --bench --list");
    }
}
