//! A source of CUDA or HIP as a program: its language, what it includes, whether it launches anything, and the words by which its
//! compiler builds it alone.

use std::collections::{BTreeSet, VecDeque};

use gbench_formats::adapters::SourceTree;

use crate::discover::cuda::code_text::{CodeText, CodeToken, tokens};
use crate::discover::findings::leaf;
use crate::discover::programs::make_rules::below;
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
    ("cuda.h", "-lcuda"),
];
const OF_TEMPLATES: [&str; 7] =
    ["thrust/", "cub/", "cute/", "cutlass/", "hipcub/", "rocprim/", "cudnn_frontend"];
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

    /// The language of a source by its name and text. C++ is only HIP if it launches kernels.
    fn of(path: &str, text: &str, code: &str) -> Option<Self> {
        let is_hip = included(text).any(|(name, _)| name == "hip/hip_runtime.h" || name == "hip_runtime.h");
        match path.rsplit_once('.')?.1 {
            "hip" => Some(Self::Hip),
            "cu" if is_hip => Some(Self::Hip),
            "cu" => Some(Self::Cuda),
            "cpp" | "cc" | "cxx" if is_hip && launches(code) => Some(Self::Hip),
            _ => None,
        }
    }
}

pub(super) struct GpuSource {
    pub language: GpuLanguage,
    pub text: String,
    /// The text without comments and literals.
    pub code: String,
    /// Angle brackets: not a file of the tree.
    headers: BTreeSet<String>,
    /// Folders of the tree in which headers lie that are found nowhere else.
    folders: BTreeSet<String>,
    launches: bool,
}

impl GpuSource {
    /// `None`: it is no source of these languages.
    pub(super) fn read(tree: &dyn SourceTree, path: &str) -> Option<Self> {
        let extension = path.rsplit_once('.')?.1;
        if !["cu", "hip", "cpp", "cc", "cxx"].contains(&extension) {
            return None;
        }
        let text = tree.text(path)?;
        let code = CodeText::new(&text).code;
        let language = GpuLanguage::of(path, &text, &code)?;
        let mut source = Self {
            language,
            launches: launches(&code),
            text,
            code,
            headers: BTreeSet::new(),
            folders: BTreeSet::new(),
        };
        source.follow(tree, path);
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
                    let is_own = is_quoted || name.contains('.') && library(name).is_none();
                    let end = Some(format!("/{name}")).filter(|_| is_own)?;
                    let found = tree.files().iter().filter(|path| path.ends_with(&end));
                    found.min_by_key(|path| path.len()).cloned()
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
                    waiting.push_back((file, text));
                }
            }
        }
    }

    /// False if nothing in it or in its headers starts work on a GPU.
    pub(super) fn launches(&self) -> bool {
        let of_library = |name: &String| {
            OF_TEMPLATES.iter().any(|start| name.starts_with(start))
                || self.libraries().iter().any(|flag| *flag != "-lcuda")
        };
        self.launches || self.headers.iter().any(of_library)
    }

    /// True if only a launcher such as `mpirun` starts it as it is meant.
    pub(super) fn is_of_several_processes(&self) -> bool {
        self.headers.iter().any(|name| OF_PROCESSES.iter().any(|start| name.starts_with(start)))
    }

    fn libraries(&self) -> BTreeSet<&'static str> {
        self.headers.iter().filter_map(|name| library(name)).collect()
    }

    /// The compiler and its words.
    pub(super) fn compiled(&self, path: &str, output: &str) -> Vec<String> {
        let architecture = (self.language == GpuLanguage::Cuda).then_some("-arch=native");
        let words =
            [self.language.compiler(), "-O3"].into_iter().chain(architecture).chain(["-o", output, path]);
        let folders = self.folders.iter().map(|folder| {
            let folder = if folder.is_empty() { "." } else { folder };
            format!("-I{folder}")
        });
        let libraries = self.libraries().into_iter().map(str::to_owned);
        words.map(str::to_owned).chain(folders).chain(libraries).collect()
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

fn launches(code: &str) -> bool {
    ["<<<", "LaunchKernel", "__global__"].iter().any(|word| code.contains(word))
}

/// The names in the `#include` lines of a text, and whether they are in quotes.
fn included(text: &str) -> impl Iterator<Item = (&str, bool)> {
    text.lines().filter_map(|line| {
        let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?.trim_start();
        let is_quoted = rest.starts_with('"');
        let name = rest.strip_prefix(['"', '<'])?.split(['"', '>']).next()?;
        Some((name.trim(), is_quoted))
    })
}
