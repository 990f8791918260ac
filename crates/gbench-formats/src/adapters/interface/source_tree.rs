//! The adapters' view of a tree and of a program before anything runs, and their proposals.

/// The files below a folder. The adapter itself does no I/O.
pub trait SourceTree {
    /// Paths of regular files from the folder, with `/` between the parts, sorted. Hidden folders, build folders and
    /// files that git ignores are omitted, and the number of files is limited.
    fn files(&self) -> &[String];

    /// The first mebibyte of a file as text, with any bytes; `None` if it cannot be read.
    fn text(&self, path: &str) -> Option<String>;
}

/// Benchmarks found in a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Detected {
    pub found: Vec<FoundBenchmark>,
    /// Sentences about files that resemble a benchmark of this harness and were not understood: `init` prints them.
    pub unclear: Vec<String>,
    /// The files in `unclear`, so that nothing else is proposed for them either.
    pub seen: Vec<String>,
}

impl Detected {
    /// Records why a file is not proposed.
    pub fn unclear(&mut self, file: &str, sentence: String) {
        self.seen.push(file.to_owned());
        self.unclear.push(sentence);
    }
}

/// A proposed `[[benchmark]]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundBenchmark {
    /// Suggested name within the suite.
    pub name: String,
    pub command: Vec<String>,
    /// Runs in the tree's root, whatever `dir` is.
    pub build: Option<BuildStep>,
    /// Folder to start in, relative to the tree's root; empty: the root.
    pub dir: String,
    /// Programs that must exist.
    pub binaries: Vec<String>,
    /// It needs a GPU.
    pub gpu: bool,
    /// Its source files, so that nothing else is proposed for them.
    pub files: Vec<String>,
    /// Why it was proposed, as a sentence fragment.
    pub why: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BuildStep {
    Command(Vec<String>),
    Shell(String),
}

/// A program that may belong to a harness.
#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    pub command: &'a [String],
    /// The bytes of the program or script that the command starts; empty if it cannot be found.
    pub bytes: &'a [u8],
}

impl Program<'_> {
    /// The name of the program without its folder.
    pub fn name(&self) -> &str {
        self.command.first().map_or("", |program| program.rsplit('/').next().unwrap_or(program))
    }

    /// True if the program's bytes contain a text.
    pub fn holds(&self, text: &str) -> bool {
        memchr::memmem::find(self.bytes, text.as_bytes()).is_some()
    }
}

#[cfg(test)]
pub(crate) struct MemoryTree {
    paths: Vec<String>,
    texts: std::collections::BTreeMap<String, String>,
}

#[cfg(test)]
impl MemoryTree {
    pub(crate) fn of<'a>(files: impl AsRef<[(&'a str, &'a str)]>) -> Self {
        let owned = |(path, text): &(&str, &str)| ((*path).to_owned(), (*text).to_owned());
        let texts: std::collections::BTreeMap<String, String> = files.as_ref().iter().map(owned).collect();
        Self { paths: texts.keys().cloned().collect(), texts }
    }
}

#[cfg(test)]
impl SourceTree for MemoryTree {
    fn files(&self) -> &[String] {
        &self.paths
    }

    fn text(&self, path: &str) -> Option<String> {
        self.texts.get(path).cloned()
    }
}
