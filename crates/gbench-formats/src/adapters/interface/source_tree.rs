//! What adapters see of a tree and of a program before anything runs, and what they propose.

/// The files below a folder, without I/O of the adapter's own.
pub trait SourceTree {
    /// Paths of regular files from the folder, `/` between the parts, sorted; without hidden folders, build folders and what
    /// git ignores, and at most so many that a large tree costs no time worth mentioning.
    fn files(&self) -> &[String];

    /// The first mebibyte of a file as text, whatever its bytes; `None` where it cannot be read.
    fn text(&self, path: &str) -> Option<String>;
}

/// What lies in a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Detected {
    pub found: Vec<FoundBenchmark>,
    /// What looks like a benchmark of this harness and was not understood, as sentences: `init` says them.
    pub unclear: Vec<String>,
    /// Files that `unclear` is about, so that nothing else is proposed for them either.
    pub seen: Vec<String>,
}

impl Detected {
    /// Says of a file why it is not proposed.
    pub fn unclear(&mut self, file: &str, sentence: String) {
        self.seen.push(file.to_owned());
        self.unclear.push(sentence);
    }
}

/// A `[[benchmark]]` to propose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundBenchmark {
    /// Suggested name within the suite.
    pub name: String,
    pub command: Vec<String>,
    /// Runs in the tree's own folder, whatever `dir` is.
    pub build: Option<BuildStep>,
    /// Folder to start in, from the tree's; empty: the tree's own.
    pub dir: String,
    /// Programs that have to be there.
    pub binaries: Vec<String>,
    /// It needs a GPU.
    pub gpu: bool,
    /// Files that it was found by, so that nothing else is proposed for them.
    pub files: Vec<String>,
    /// Why it was proposed, as a sentence fragment.
    pub why: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BuildStep {
    Command(Vec<String>),
    /// A line for `sh -c`.
    Shell(String),
}

/// A program that may be one of a harness.
#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    pub command: &'a [String],
    /// The bytes of the program or script that the command starts, as far as it can be found; empty where it cannot.
    pub bytes: &'a [u8],
}

impl Program<'_> {
    /// The name of the program without its folder.
    pub fn name(&self) -> &str {
        self.command.first().map_or("", |program| program.rsplit('/').next().unwrap_or(program))
    }

    /// Whether the program's bytes hold a text.
    pub fn holds(&self, text: &str) -> bool {
        memchr::memmem::find(self.bytes, text.as_bytes()).is_some()
    }
}

/// Files by their path, for tests.
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
