//! Python scripts and tests that launch their project's kernels: how each is started, and what it imports.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use gbench_formats::adapters::{BuildStep, Harness, SourceTree};

use super::make_rules::below;
use super::makefile::{self, LAUNCHERS, MadeScript};
use super::python_text::PythonText;
use super::started;
use crate::discover::findings::{Discovered, id_word, leaf, literal};
use crate::discover::python::layouts::folder;

const FOLDERS: [&str; 5] = ["bench", "benches", "benchmark", "benchmarks", "benchmarking"];
/// Words of `setup.py` that compile an extension.
const EXTENSIONS: [&str; 4] = ["CUDAExtension", "CppExtension", "ext_modules", "cuda_extension"];
/// Packages that a script imports from where they are installed.
const LIBRARIES: [&str; 6] = ["torch", "triton", "numpy", "cupy", "numba", "jax"];
/// Folders with packages that stand in for others, next to those of tests.
const STAND_INS: [&str; 2] = ["fixtures", "stubs"];
/// Words of a `pyproject.toml` whose backend compiles: only an installed package has what it made.
const BACKENDS: [&str; 5] = ["scikit-build", "scikit_build", "maturin", "mesonpy", "meson-python"];
const TEST_FOLDERS: [&str; 2] = ["test", "tests"];

pub(super) fn traced() -> Option<Harness> {
    Harness::named("kernels")
}

/// Why a script has no entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum NoScript {
    Arguments,
    Processes,
}

pub(super) struct KernelScripts<'t> {
    folder: &'t Path,
    tree: &'t dyn SourceTree,
    /// The tree has kernels of CUDA, HIP or Triton.
    pub has_kernels: bool,
    /// Folders of the packages and modules that can be imported, by their names: from the folder that has to be on the path.
    modules: BTreeMap<String, String>,
    /// Folders with a `setup.py` that compiles, and its text.
    extensions: BTreeMap<String, String>,
}

impl<'t> KernelScripts<'t> {
    pub(super) fn of(folder_of_tree: &'t Path, tree: &'t dyn SourceTree) -> Self {
        let has_kernels = tree.files().iter().any(|path| {
            let of_triton = || tree.text(path).is_some_and(|text| text.contains("@triton.jit"));
            path.ends_with(".cu") || path.ends_with(".hip") || path.ends_with(".py") && of_triton()
        });
        let mut modules: BTreeMap<String, String> = BTreeMap::new();
        let packages = tree.files().iter().filter_map(|path| path.strip_suffix("/__init__.py"));
        for package in packages {
            let above = folder(package);
            let is_foreign = LIBRARIES.contains(&leaf(package))
                || above.split('/').any(|part| part.starts_with("test") || STAND_INS.contains(&part));
            let is_outermost = tree.files().binary_search(&below(above, "__init__.py")).is_err();
            let known = modules.get(leaf(package)).is_some_and(|other| other.len() <= above.len());
            if is_outermost && !known && !is_foreign {
                modules.insert(leaf(package).to_owned(), above.to_owned());
            }
        }
        let setups = tree.files().iter().filter(|path| leaf(path) == "setup.py");
        let compiles = |path: &String| {
            let text = tree.text(path).filter(|text| EXTENSIONS.iter().any(|word| text.contains(word)))?;
            Some((folder(path).to_owned(), text))
        };
        let extensions = setups.filter_map(compiles).collect();
        Self { folder: folder_of_tree, tree, has_kernels, modules, extensions }
    }

    /// A script that can be started and has kernels, or measures those that it imports. `None`: it is not one.
    pub(super) fn script(&self, path: &str) -> Option<Result<Discovered, NoScript>> {
        let stem = leaf(path).strip_suffix(".py")?;
        if stem.starts_with("test_")
            || ["setup", "build"].iter().any(|start| stem.starts_with(start))
            || started::is_helper(stem)
        {
            return None;
        }
        let text = self.tree.text(path)?;
        let script = PythonText(&text);
        let in_folder = FOLDERS.contains(&leaf(folder(path)));
        let named = started::is_named(stem) || in_folder;
        let uses_gpu = script.imports().any(|name| name.starts_with("torch") || self.is_own(name));
        let is_benchmark = self.has_kernels && named && uses_gpu;
        let is_own = script.has_own_kernels();
        if !(is_own || is_benchmark) || !script.runs(started::is_named(stem)) {
            return None;
        }
        let made = makefile::starts(self.tree, folder(path), leaf(path));
        if made.as_ref().is_some_and(|made| LAUNCHERS.iter().any(|word| made.line.contains(word))) {
            return Some(Err(NoScript::Processes));
        }
        if script.is_of_several_processes() {
            return Some(Err(NoScript::Processes));
        }
        if script.needs_arguments() {
            return Some(Err(NoScript::Arguments));
        }
        let what = if is_own { "with kernels" } else { "of torch, next to kernels" };
        let plot = script.plot_file();
        let harness = plot.as_ref().map_or_else(traced, |_| Harness::named("triton"));
        let why = match &plot {
            Some(file) => format!("{path} is a Python program {what}, and its table is {file}"),
            None => format!("{path} is a Python program {what}"),
        };
        Some(Ok(Discovered {
            harness,
            fills_time: plot.is_none() && started::calibrates_with(self.folder, path, &text).is_some(),
            file: plot,
            ..made.map_or_else(|| self.entry(path, &script, why.clone()), |made| made_entry(path, made, &why))
        }))
    }

    /// A test of the project's own kernels. `None`: it is not one.
    pub(super) fn test(&self, path: &str) -> Option<Discovered> {
        let stem = leaf(path).strip_suffix(".py")?;
        let is_test = stem.starts_with("test_")
            || stem.ends_with("_test")
            || stem == "test"
            || folder(path).split('/').any(|part| TEST_FOLDERS.contains(&part));
        let text = self.tree.text(path).filter(|text| is_test && text.contains("cuda"))?;
        let script = PythonText(&text);
        let has_tests = text.lines().any(|line| line.trim_start().starts_with("def test_"));
        let uses_own = script.has_own_kernels() || script.imports().any(|name| self.is_own(name));
        if !has_tests || !uses_own || script.is_of_several_processes() {
            return None;
        }
        let why = format!("{path} is a test of the kernels here");
        let mut entry = self.entry(path, &script, why);
        let runs_alone = ["unittest.main(", "run_tests()"].iter().any(|word| text.contains(word));
        if !runs_alone {
            entry.command = ["python3", "-m", "pytest"].map(str::to_owned).into();
            entry.command.push(literal(if entry.dir.is_empty() { path } else { leaf(path) }));
        }
        Some(Discovered { harness: traced(), ..entry })
    }

    fn entry(&self, path: &str, script: &PythonText, why: String) -> Discovered {
        let here = folder(path);
        // Sources of an extension are found from the folder in which a script is started.
        let beside = |source: &str| self.tree.files().binary_search(&below(here, source)).is_ok();
        let in_root = |source: &str| self.tree.files().binary_search(&below("", source)).is_ok();
        let is_from_here = script.sources().any(|source| beside(source) && !in_root(source));
        let dir = if is_from_here { here } else { "" };
        let file = if dir.is_empty() { path } else { leaf(path) };
        let command = if script.is_of_package() && dir.is_empty() {
            let module = path.trim_end_matches(".py").replace('/', ".");
            vec!["python3".to_owned(), "-m".to_owned(), literal(&module)]
        } else {
            vec!["python3".to_owned(), literal(file)]
        };
        let (places, build) = self.imported(here, script);
        let up = "../".repeat(if dir.is_empty() { 0 } else { dir.split('/').count() });
        let from_dir = |place: &String| match (up.trim_end_matches('/'), place.as_str()) {
            ("", "") => ".".to_owned(),
            (up, "") => up.to_owned(),
            (_, place) => format!("{up}{place}"),
        };
        let places: Vec<String> = places.iter().map(from_dir).collect();
        let env = (!places.is_empty()).then(|| ("PYTHONPATH".to_owned(), places.join(":")));
        Discovered {
            name: id_word(leaf(path).trim_end_matches(".py")),
            command,
            dir: dir.to_owned(),
            build,
            env: env.into_iter().collect(),
            binaries: vec!["python3".into()],
            gpu: true,
            why,
            ..Discovered::default()
        }
    }

    fn is_own(&self, name: &str) -> bool {
        let first = name.split('.').next().unwrap_or_default();
        self.modules.contains_key(first) || self.extension(first).is_some()
    }

    /// The folder whose `setup.py` compiles a module of this name.
    fn extension(&self, name: &str) -> Option<&String> {
        let plain = |text: &str| text.replace(char::is_whitespace, "").replace('\'', "\"");
        let ways = ["name=", "Extension("].map(|before| format!("{before}\"{name}\""));
        let has = |text: &str| !name.is_empty() && ways.iter().any(|way| plain(text).contains(way));
        self.extensions.iter().find(|(_, text)| has(text)).map(|(folder, _)| folder)
    }

    /// By the nearest `pyproject.toml` above a package.
    fn is_compiled_by_backend(&self, place: &str) -> bool {
        let mut at = place;
        loop {
            if let Some(text) = self.tree.text(&below(at, "pyproject.toml")) {
                return BACKENDS.iter().any(|word| text.contains(word));
            }
            if at.is_empty() {
                return false;
            }
            at = folder(at);
        }
    }

    /// The folders that have to be on the path, so that each side of a comparison imports its own code and not an installed
    /// one, and the step that compiles the extensions in them.
    fn imported(&self, here: &str, script: &PythonText) -> (Vec<String>, Option<BuildStep>) {
        let mut places: BTreeSet<String> = BTreeSet::new();
        let mut builds: BTreeSet<&String> = BTreeSet::new();
        for name in script.imports() {
            let first = name.split('.').next().unwrap_or_default();
            // Modules next to the script are found without.
            let module = below(here, &format!("{first}.py"));
            if self.tree.files().binary_search(&module).is_ok() {
                continue;
            }
            let place = self.modules.get(first);
            let setup = match place {
                // The nearest above the package.
                Some(place) => {
                    self.extensions.keys().filter(|at| is_within(place, at)).max_by_key(|at| at.len())
                }
                None => self.extension(first),
            };
            if place.is_some_and(|place| self.is_compiled_by_backend(place)) {
                continue;
            }
            builds.extend(setup);
            places.extend(place.or(setup).filter(|place| place.as_str() != here || setup.is_some()).cloned());
        }
        let compile = |folder: &&String| {
            let setup = "python3 setup.py build_ext --inplace";
            if folder.is_empty() { setup.to_owned() } else { format!("(cd '{folder}' && {setup})") }
        };
        let quotable = builds.iter().all(|folder| !folder.contains('\''));
        let lines: Vec<String> = builds.iter().filter(|_| quotable).map(compile).collect();
        let step = match (builds.first(), lines.as_slice()) {
            (Some(folder), [_]) if folder.is_empty() => {
                let words = ["python3", "setup.py", "build_ext", "--inplace"];
                Some(BuildStep::Command(words.map(str::to_owned).into()))
            }
            (_, []) => None,
            _ => Some(BuildStep::Shell(lines.join(" && "))),
        };
        (places.into_iter().collect(), step)
    }
}

/// A script that a makefile starts, in its folder and behind what the makefile builds.
fn made_entry(path: &str, made: MadeScript, why: &str) -> Discovered {
    let is_built = !made.build.is_empty();
    let what = if is_built { "builds what it imports" } else { "starts it" };
    let arguments = made.arguments.iter().map(String::as_str);
    Discovered {
        name: id_word(leaf(folder(path))),
        command: ["python3", leaf(path)].into_iter().chain(arguments).map(literal).collect(),
        dir: folder(path).to_owned(),
        build: is_built.then(|| BuildStep::Command(made.build.iter().map(|word| literal(word)).collect())),
        binaries: is_built.then_some("make").into_iter().chain(["python3"]).map(str::to_owned).collect(),
        gpu: true,
        why: format!("{why}; a makefile {what}"),
        ..Discovered::default()
    }
}

fn is_within(path: &str, above: &str) -> bool {
    above.is_empty() || path == above || path.strip_prefix(above).is_some_and(|rest| rest.starts_with('/'))
}
