//! A source of CUDA or HIP as a program: its language, what it includes, whether it launches anything, and the words by which its
//! compiler builds it alone.

use std::collections::{BTreeSet, VecDeque};

use gbench_formats::adapters::SourceTree;

use crate::discover::cuda::code_text::{CodeText, CodeToken, tokens};
use crate::discover::findings::leaf;
use crate::discover::programs::make_rules::below;
use crate::discover::programs::sources::is_program;
use crate::discover::python::layouts::folder;

/// Files whose includes are followed.
const MAX_INCLUDED: usize = 64;

/// Parts of header names, and the library that is linked for them. These launch kernels, apart from the driver's.
const LIBRARIES: [(&str, &str); 16] = [
    ("cublasLt.h", "-lcublasLt"),
    ("cublas_v2.h", "-lcublas"),
    ("cublas.h", "-lcublas"),
    ("cudnn.h", "-lcudnn"),
    ("cufft.h", "-lcufft"),
    ("curand.h", "-lcurand"),
    ("cusolverDn.h", "-lcusolver"),
    ("cusparse.h", "-lcusparse"),
    ("nccl.h", "-lnccl"),
    ("hipblas.h", "-lhipblas"),
    ("hipfft.h", "-lhipfft"),
    ("hiprand.h", "-lhiprand"),
    ("hipsparse.h", "-lhipsparse"),
    ("rocblas.h", "-lrocblas"),
    ("rocrand.h", "-lrocrand"),
    ("cuda.h", DRIVER),
];
const DRIVER: &str = "-lcuda";
const OF_DRIVER: [&str; 7] =
    ["cuInit(", "cuCtx", "cuDevice", "cuModule", "cuLibrary", "cuLaunch", "cuTensorMap"];
const OF_TEMPLATES: [&str; 7] =
    ["thrust/", "cub/", "cute/", "cutlass/", "hipcub/", "rocprim/", "cudnn_frontend"];
const OF_TORCH: [&str; 4] = ["torch/", "ATen/", "c10/", "pybind11/"];
const OF_PROCESSES: [&str; 3] = ["mpi.h", "nvshmem.h", "rocshmem/"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GpuLanguage {
    Cuda,
    Hip,
}

impl GpuLanguage {
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Cuda => "CUDA",
            Self::Hip => "HIP",
        }
    }

    pub(super) fn compiler(self) -> &'static str {
        match self {
            Self::Cuda => "nvcc",
            Self::Hip => "hipcc",
        }
    }
}

pub(super) struct GpuSource {
    pub language: GpuLanguage,
    pub text: String,
    /// The text without comments and literals.
    code: String,
    /// Angle brackets: not a file of the tree.
    headers: BTreeSet<String>,
    /// Folders of the tree in which headers lie that are found nowhere else.
    folders: BTreeSet<String>,
    launches: bool,
    /// It has concepts of C++20.
    has_concepts: bool,
}

impl GpuSource {
    /// `None`: it is not a program of these languages.
    pub(super) fn read(tree: &dyn SourceTree, path: &str) -> Option<Self> {
        let extension = path.rsplit_once('.')?.1;
        if !["cu", "hip", "cpp", "cc", "cxx"].contains(&extension) {
            return None;
        }
        let text = tree.text(path)?;
        let is_cpp = !["cu", "hip"].contains(&extension);
        if is_cpp && !included(&text).any(|(name, _)| is_of_hip(name)) {
            return None;
        }
        let code = CodeText::new(&text).code;
        if !is_program(&code) {
            return None;
        }
        let mut source = Self {
            language: GpuLanguage::Cuda,
            launches: launches(&code),
            has_concepts: has_concepts(&code),
            text,
            code,
            headers: BTreeSet::new(),
            folders: BTreeSet::new(),
        };
        if is_cpp && !source.launches {
            return None;
        }
        source.follow(tree, path);
        if extension != "cu" || source.headers.iter().any(|name| is_of_hip(name)) {
            source.language = GpuLanguage::Hip;
        }
        Some(source)
    }

    fn follow(&mut self, tree: &dyn SourceTree, path: &str) {
        let mut seen = BTreeSet::from([path.to_owned()]);
        let mut waiting = VecDeque::from([(path.to_owned(), self.text.clone())]);
        while let Some((path, text)) = waiting.pop_front() {
            for (name, is_quoted) in included(&text) {
                let beside = below(folder(&path), name);
                let is_there = |path: &String| tree.files().binary_search(path).is_ok();
                let elsewhere = || {
                    let is_own =
                        is_quoted || name.contains('.') && library(name).is_none() && !is_of_hip(name);
                    let end = Some(format!("/{name}")).filter(|_| is_own)?;
                    let found = tree.files().iter().filter(|path| path.ends_with(&end));
                    // The nearest of several.
                    let shared =
                        |other: &String| other.bytes().zip(path.bytes()).take_while(|(a, b)| a == b).count();
                    found.max_by_key(|other| (shared(other), std::cmp::Reverse(other.len()))).cloned()
                };
                let found = Some(beside).filter(|path| is_quoted && is_there(path));
                let Some(file) = found.or_else(|| {
                    let file = elsewhere()?;
                    self.folders.insert(file.strip_suffix(name)?.trim_end_matches('/').to_owned());
                    Some(file)
                }) else {
                    self.headers.insert(name.to_owned());
                    // The kernels may be in what is not here.
                    self.launches |= is_quoted;
                    continue;
                };
                if seen.len() < MAX_INCLUDED && seen.insert(file.clone()) {
                    let text = tree.text(&file).unwrap_or_default();
                    self.launches |= launches(&text);
                    self.has_concepts |= has_concepts(&text);
                    waiting.push_back((file, text));
                }
            }
        }
    }

    /// False if nothing in it or in its headers starts work on a GPU.
    pub(super) fn launches(&self) -> bool {
        let of_library = |name: &String| {
            OF_TEMPLATES.iter().any(|start| name.starts_with(start))
                || self.libraries().iter().any(|flag| *flag != DRIVER)
        };
        self.launches || self.headers.iter().any(of_library)
    }

    /// True if only a launcher such as `mpirun` starts it as it is meant.
    pub(super) fn is_of_several_processes(&self) -> bool {
        self.headers.iter().any(|name| OF_PROCESSES.iter().any(|start| name.starts_with(start)))
    }

    fn libraries(&self) -> BTreeSet<&'static str> {
        // Many include the driver's header and call nothing of it.
        let is_called =
            |flag: &&str| *flag != DRIVER || OF_DRIVER.iter().any(|word| self.code.contains(word));
        self.headers.iter().filter_map(|name| library(name)).filter(is_called).collect()
    }

    /// The compiler and its words. `None`: it has headers of torch, which only torch's build finds.
    pub(super) fn compiled(&self, path: &str, output: &str) -> Option<Vec<String>> {
        if self.headers.iter().any(|name| OF_TORCH.iter().any(|start| name.starts_with(start))) {
            return None;
        }
        let architecture = (self.language == GpuLanguage::Cuda).then_some("-arch=native");
        let standard = self.has_concepts.then_some("-std=c++20");
        let words = [self.language.compiler(), "-O3"].into_iter().chain(architecture).chain(standard);
        let words = words.chain(["-o", output, path]);
        let folders = self.folders.iter().map(|folder| {
            let folder = if folder.is_empty() { "." } else { folder };
            format!("-I{folder}")
        });
        let libraries = self.libraries().into_iter().map(str::to_owned);
        Some(words.map(str::to_owned).chain(folders).chain(libraries).collect())
    }

    /// True if it ends with an error or a message unless it is given arguments.
    pub(super) fn needs_arguments(&self) -> bool {
        let tokens = tokens(&self.code);
        (0..tokens.len()).any(|at| {
            let [name, sign, rest @ ..] = &tokens[at..] else { return false };
            let (sign, rest) = match (*sign, rest) {
                ("!" | "=" | "<", ["=", rest @ ..]) => (format!("{sign}="), rest),
                (sign, rest) => (sign.to_owned(), rest),
            };
            let [number, ")", body @ ..] = rest else { return false };
            let Ok(number) = number.parse::<u32>() else { return false };
            let is_few = match sign.as_str() {
                "!=" | "<" => number > 1,
                "==" | "<=" => number == 1,
                _ => false,
            };
            ["argc", "nargs"].contains(name) && is_few && ends(body)
        })
    }
}

/// True if the statement behind a condition ends the program or prints its usage.
fn ends(body: &[CodeToken]) -> bool {
    let close = match body.first() {
        Some(&"{") => body.iter().position(|token| *token == "}"),
        _ => body.iter().position(|token| *token == ";"),
    };
    body[..close.unwrap_or(body.len())].iter().any(|token| {
        ["return", "exit", "abort"].contains(token) || token.to_ascii_lowercase().contains("usage")
    })
}

/// The linker's word for the library of a header.
fn library(name: &str) -> Option<&'static str> {
    LIBRARIES.iter().find(|(header, _)| leaf(name) == *header).map(|(_, flag)| *flag)
}

fn has_concepts(code: &str) -> bool {
    let is_concept = |line: &str| {
        let (before, rest) = line.split_once("concept ")?;
        let before = before.trim();
        Some((before.is_empty() || before.ends_with('>')) && rest.contains('='))
    };
    code.lines().any(|line| is_concept(line).unwrap_or(false))
}

fn is_of_hip(header: &str) -> bool {
    ["hip/hip_runtime.h", "hip_runtime.h", "hip/hip_runtime_api.h"].contains(&header)
}

fn launches(code: &str) -> bool {
    ["<<<", "LaunchKernel", "__global__"].iter().any(|word| code.contains(word))
}

/// The names in the `#include` lines of a text, and whether they are in quotes; without those that a macro switches on.
fn included(text: &str) -> impl Iterator<Item = (&str, bool)> {
    let mut switched: Vec<bool> = Vec::new();
    text.lines().filter_map(move |line| {
        let rest = line.trim_start().strip_prefix('#')?.trim_start();
        if rest.starts_with("if") {
            switched.push(!rest.starts_with("ifndef"));
        } else if rest.starts_with("endif") {
            switched.pop();
        }
        let rest = rest.strip_prefix("include")?.trim_start();
        let is_quoted = rest.starts_with('"');
        let name = rest.strip_prefix(['"', '<'])?.split(['"', '>']).next()?;
        (!switched.contains(&true)).then(|| (name.trim(), is_quoted))
    })
}
