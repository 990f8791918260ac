//! Recognises the harness of a benchmark's program: by its words, by its bytes, or by nearby sources.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use gbench_formats::adapters::{ALL, Harness, Program};
use gbench_model::Params;
use gbench_suite::discover::FolderTree;
use gbench_suite::{Action, Benchmark};

const MAX_PROGRAM_BYTES: u64 = 256 << 20;

pub(super) fn recognised(benchmark: &Benchmark, command: &[String]) -> Option<Harness> {
    let bytes = program(benchmark, command).and_then(bytes_of).unwrap_or_default();
    Harness::recognised(&Program { command, bytes: &bytes })
}

/// The harness of a program that does as much work as fits into a fixed time, so that its time from outside is meaningless.
pub(crate) fn calibrating(benchmark: &Benchmark) -> Option<Harness> {
    let command = match &benchmark.action {
        Action::Shell(line) => line.split_whitespace().map(str::to_owned).collect(),
        _ => benchmark.argv(benchmark.points.first().unwrap_or(&Params::new()), &[]),
    };
    let words = Program { command: &command, bytes: b"" };
    let known = recognised(benchmark, &command).or_else(|| by_sources(benchmark, &command));
    known.filter(|harness| harness.0.calibrates(&words))
}

/// The harness of a program that Cargo or pytest starts: their words name no harness, but the sources do.
fn by_sources(benchmark: &Benchmark, command: &[String]) -> Option<Harness> {
    let starter = |word: &String| ["cargo", "pytest"].contains(&word.rsplit('/').next().unwrap_or(word));
    if !command.iter().any(starter) {
        return None;
    }
    let tree = FolderTree::walk(&benchmark.dir, &|_| false);
    let bench = after(command, "--bench");
    let starts = |adapter: &&&dyn gbench_formats::adapters::Adapter| {
        adapter.detect(&tree).found.iter().any(|found| match bench {
            Some(name) => after(&found.command, "--bench") == Some(name),
            None => {
                let from = |path: &String| {
                    let inner = path.strip_prefix(&found.dir).unwrap_or(path).trim_start_matches('/');
                    command.iter().any(|word| word == path || word == inner)
                };
                found.files.iter().any(from)
            }
        })
    };
    ALL.iter().find(starts).map(|adapter| Harness(*adapter))
}

fn after<'c>(command: &'c [String], flag: &str) -> Option<&'c String> {
    let place = command.iter().position(|word| word == flag)?;
    command.get(place + 1)
}

/// The most informative file of a command: its program if that is in the tree, else the first argument that is a file there,
/// such as a script.
fn program(benchmark: &Benchmark, command: &[String]) -> Option<PathBuf> {
    let mut words = command.iter().filter(|word| !word.starts_with('-'));
    words.find_map(|word| Some(benchmark.dir.join(word)).filter(|path| path.is_file()))
}

fn bytes_of(path: PathBuf) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(MAX_PROGRAM_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
