//! The benchmarks of a folder, without running any of it, as a document: the entries that `init` would write.

use std::collections::BTreeMap;
use std::path::Path;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::adapters::BuildStep;
use crate::adapters::CaseName;
use crate::adapters::layouts::{KernelManifest, LayoutCases, PassedOver, PythonCase, SourceCases};
use crate::machine::ignored_by_git;
use crate::model::{Access, Fault, ParamValue, Result, Variant};
use crate::suite::discover::{Discovered, Discovery, FoundKernel, FoundLayout, FoundValue, discover};

/// The document of `discover --json`. Paths are from the folder that was looked into.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(title = "Discovery"))]
pub struct V1Discovery {
    /// `gbench-ci/discovery/v1`
    pub schema: &'static str,
    pub version: u32,
    /// The entries that `init` would write: one for each program or layout.
    pub benchmarks: Vec<V1Found>,
    /// Python modules of the layout `pairs`, in natural order of folders, then names.
    pub pairs: Vec<V1Pair>,
    /// Python modules of the layout `kernels`.
    pub kernels: Vec<V1Kernel>,
    /// `optimized_` files whose folder has no `baseline_` file for them.
    pub orphans: Vec<String>,
    /// Pairs of CUDA sources, in natural order of folders, then names.
    pub cuda_pairs: Vec<V1CudaPair>,
    /// Oddities of the files of a layout, such as an unknown key of a `bench.yaml`.
    pub warnings: Vec<String>,
    /// Files that look like a benchmark and were not understood.
    pub unclear: Vec<String>,
    /// With `--verbose`: files that look like a benchmark of a layout but are not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passed_over: Option<Vec<V1PassedOver>>,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct V1Found {
    /// Name within the suite.
    pub id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub harness: Option<&'static str>,
    /// Absent for Python modules and CUDA kernels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
    /// The file in which it leaves its rows, from `dir`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Folder to start in; empty: the folder that was looked into.
    pub dir: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build: Option<V1Build>,
    /// Environment variables of `command`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub python: Option<V1Layout>,
    /// Of pairs of sources, whose `command` and `build` have `{program}`, `{source}` and `{folder}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pairs: Option<V1Sources>,
    /// A CUDA kernel that is measured without host code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cuda: Option<V1CudaKernel>,
    /// It needs a GPU, as far as its text says.
    pub gpu: bool,
    /// Why it is proposed.
    pub why: String,
}

/// A command as words, or a line for a shell.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(untagged)]
pub enum V1Build {
    Command(Vec<String>),
    Shell { shell: String },
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct V1Layout {
    /// `pairs` or `kernels`
    pub layout: &'static str,
    /// Folder globs.
    pub roots: Vec<String>,
    /// File globs that are left out.
    pub ignore: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct V1Sources {
    /// File extension of the sources, without a point.
    pub extension: String,
    /// Folder globs.
    pub roots: Vec<String>,
    /// File globs that are left out.
    pub ignore: Vec<String>,
}

/// A kernel, and what its signature lets guess of a launch.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct V1CudaKernel {
    pub file: String,
    /// Its name with its namespaces.
    pub entry: String,
    /// The value of the parameter `n`.
    pub n: u64,
    /// Blocks by axis, as expressions.
    pub grid: Vec<String>,
    /// Threads of a block by axis.
    pub block: Vec<u32>,
    /// Bytes of dynamic shared memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared: Option<u32>,
    /// The launch is cooperative.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cooperative: bool,
    pub arguments: Vec<V1KernelArgument>,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct V1KernelArgument {
    /// As the source has it; empty: it has none.
    pub name: String,
    /// `input`, `inout` or `value`
    pub kind: &'static str,
    /// `f32`, `i32`: of an element, or of the value.
    #[serde(rename = "type")]
    pub dtype: &'static str,
    /// Elements of a buffer, as an expression.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<String>,
    /// A number, or `n`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct V1Pair {
    /// The folder; empty: the one that was looked into.
    pub chapter: String,
    pub name: String,
    pub baseline: String,
    pub optimized: Vec<V1Optimized>,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct V1Optimized {
    pub file: String,
    /// The part after the pair's name; absent for `optimized_NAME.py` itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub technique: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct V1Kernel {
    /// The file's name without `.py`.
    pub name: String,
    pub path: String,
    /// `cuda`, `rocm`, `jax`, `pytorch` or `cpu`: guessed by what the source imports; nothing was run.
    pub backend_guessed: &'static str,
    /// Packages that the source imports.
    pub dependencies: Vec<String>,
    /// Its `bench.yaml` as JSON.
    pub config: Map<String, Value>,
    /// The cases that it has by its `bench.yaml`: names and parameters.
    pub cases: Vec<String>,
    /// The fault of its `bench.yaml`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct V1CudaPair {
    pub chapter: String,
    pub name: String,
    pub baseline: String,
    pub optimized: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct V1PassedOver {
    pub path: String,
    pub why: String,
}

impl V1Discovery {
    /// Everything in `folder` that looks like a benchmark. `verbose`: also the files that are not. Errors: it is not a folder.
    pub fn of(folder: &Path, verbose: bool) -> Result<Self> {
        let whole = folder.canonicalize().map_err(|error| {
            Fault::at_path(
                folder,
                format!("this folder cannot be read: {error}"),
                "name a folder that is there",
            )
        })?;
        if !whole.is_dir() {
            return Err(Fault::at_path(folder, "this is not a folder", "name the folder that contains it"));
        }
        let found = discover(&whole, &ignored_by_git(&whole));
        Ok(Self::new(found, verbose))
    }

    /// The document of what was found. `verbose`: also the files that are not a benchmark.
    pub fn new(found: Discovery, verbose: bool) -> Self {
        let layouts: Vec<&LayoutCases> =
            found.benchmarks.iter().filter_map(|entry| Some(&entry.python.as_ref()?.cases)).collect();
        let sources: Vec<&SourceCases> =
            found.benchmarks.iter().filter_map(|entry| Some(&entry.pairs.as_ref()?.cases)).collect();
        let passed_over = |over: &PassedOver| V1PassedOver { path: over.path.clone(), why: over.why.clone() };
        let warnings: Vec<String> = layouts.iter().flat_map(|cases| cases.warnings.iter().cloned()).collect();
        Self {
            schema: "gbench-ci/discovery/v1",
            version: 1,
            pairs: layouts.iter().flat_map(|cases| modules(cases)).collect(),
            kernels: layouts
                .iter()
                .flat_map(|cases| cases.kernels.iter().map(|it| kernel(it, cases)))
                .collect(),
            cuda_pairs: sources.iter().flat_map(|cases| cuda_pairs(cases)).collect(),
            orphans: found.orphans,
            passed_over: verbose.then(|| found.passed_over.iter().map(passed_over).collect()),
            unclear: found.unclear.into_iter().filter(|sentence| !warnings.contains(sentence)).collect(),
            warnings,
            benchmarks: found.benchmarks.iter().map(entry).collect(),
        }
    }
}

fn entry(found: &Discovered) -> V1Found {
    let build = found.build.as_ref().map(|build| match build {
        BuildStep::Command(words) => V1Build::Command(words.clone()),
        BuildStep::Shell(line) => V1Build::Shell { shell: line.clone() },
    });
    let layout = |found: &FoundLayout| V1Layout {
        layout: found.layout.into_str(),
        roots: found.roots.clone(),
        ignore: found.ignore.clone(),
    };
    V1Found {
        id: found.name.clone(),
        harness: found.harness.map(|harness| harness.0.name()),
        command: (found.python.is_none() && found.cuda.is_none()).then(|| found.command.clone()),
        file: found.file.clone(),
        dir: found.dir.clone(),
        build,
        env: found.env.iter().cloned().collect(),
        python: found.python.as_ref().map(layout),
        pairs: found.pairs.as_ref().map(|found| V1Sources {
            extension: found.extension.clone(),
            roots: found.roots.clone(),
            ignore: found.ignore.clone(),
        }),
        cuda: found.cuda.as_ref().map(cuda_kernel),
        gpu: found.gpu,
        why: found.why.clone(),
    }
}

fn cuda_kernel(found: &FoundKernel) -> V1CudaKernel {
    let arguments = found.arguments.iter().map(|argument| {
        let (kind, length, value) = match &argument.value {
            FoundValue::Buffer { access, length } => (kind_of(*access), Some(length.clone()), None),
            FoundValue::Size => ("value", None, Some("n".to_owned())),
            FoundValue::Number(number) => ("value", None, Some(number.to_string())),
        };
        V1KernelArgument { name: argument.name.clone(), kind, dtype: argument.dtype.into(), length, value }
    });
    V1CudaKernel {
        file: found.file.clone(),
        entry: found.entry.clone(),
        n: found.size,
        grid: found.grid.clone(),
        block: found.block.clone(),
        shared: found.shared,
        cooperative: found.cooperative,
        arguments: arguments.collect(),
    }
}

/// The key of an argument in a suite file.
pub(crate) fn kind_of(access: Access) -> &'static str {
    match access {
        Access::Input => "input",
        Access::Output => "output",
        Access::InputOutput => "inout",
    }
}

/// Files with their names, a baseline before what belongs to it, as pairs.
fn pairs<'c>(members: impl Iterator<Item = (&'c CaseName, &'c str)>) -> Vec<V1Pair> {
    let mut found: Vec<V1Pair> = Vec::new();
    for (name, file) in members {
        let (file, technique) = (file.to_owned(), text(name, "technique"));
        match text(name, "variant") {
            None => {}
            Some(variant) if variant == Variant::Baseline.into_str() => found.push(V1Pair {
                chapter: text(name, "chapter").unwrap_or_default().to_owned(),
                name: name.case.clone(),
                baseline: file,
                optimized: Vec::new(),
            }),
            Some(_) => {
                let optimized = V1Optimized { file, technique: technique.map(str::to_owned) };
                found.last_mut().into_iter().for_each(|pair| pair.optimized.push(optimized.clone()));
            }
        }
    }
    found
}

fn modules(found: &LayoutCases) -> Vec<V1Pair> {
    pairs(found.cases.iter().map(|PythonCase { name, call }| (name, call.file.as_str())))
}

fn text<'c>(name: &'c CaseName, param: &str) -> Option<&'c str> {
    match name.params.get(param) {
        Some(ParamValue::Text(text)) => Some(text),
        _ => None,
    }
}

fn kernel(kernel: &KernelManifest, all: &LayoutCases) -> V1Kernel {
    let own = all.cases.iter().filter(|case| case.call.file == kernel.path);
    V1Kernel {
        name: kernel.name.clone(),
        path: kernel.path.clone(),
        backend_guessed: kernel.backend_guessed,
        dependencies: kernel.dependencies.clone(),
        config: kernel.config.clone(),
        cases: own.map(|case| case.name.native.clone()).collect(),
        fault: kernel.fault.clone(),
    }
}

fn cuda_pairs(found: &SourceCases) -> Vec<V1CudaPair> {
    let members = found.cases.iter().map(|case| (&case.name, case.file.as_str()));
    let files = |pair: &V1Pair| pair.optimized.iter().map(|optimized| optimized.file.clone()).collect();
    let plain = |pair: V1Pair| V1CudaPair {
        optimized: files(&pair),
        chapter: pair.chapter,
        name: pair.name,
        baseline: pair.baseline,
    };
    pairs(members).into_iter().map(plain).collect()
}
