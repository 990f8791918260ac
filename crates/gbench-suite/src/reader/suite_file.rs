//! `gbench.toml`: from a path to a checked [`Suite`], or to every mistake in the file at once.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read};
use std::ops::Range;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nix::fcntl::OFlag;
use strum::IntoEnumIterator;
use toml::de::DeTable;

use super::file_text::FileText;
use super::item::{Item, set};
use super::settings_reader;
use super::table::Table;
use crate::benchmark::definition::Benchmark;
use crate::benchmark::extraction::MetricRule;
use crate::reader::benchmark::benchmark_reader::{FileContext, TIMINGS, read_env, read_id, read_keep_env};
use crate::reader::benchmark::metrics_reader;
use crate::reader::benchmark::sweep_reader::MAX_POINTS;
use crate::settings::options::{Gate, LauncherOptions, ProfileOptions, RunOptions};
use crate::suite::{Source, Suite};
use gbench_model::{
    BenchmarkId, Component, Fault, MATCH_FIELDS, Result, Setting, Settings, near, sha256_hex,
};

pub const FILE_NAME: &str = "gbench.toml";

/// Bytes. Handwritten files are smaller, and `/dev/zero` is endless. In memory a file takes about a hundred times as much.
const LARGEST_FILE: u64 = 4 << 20;

impl Suite {
    /// Reads a suite file, and finds its Python modules and sources. `builtins`: the members for `builtin = "name"`, by the
    /// name of their [`crate::Action::Builtin`]. Errors: every mistake of the file, chained, each with its place, including
    /// kernels' sources that do not exist.
    pub fn load(path: &Path, builtins: &[Benchmark]) -> Result<Suite> {
        let mut suite = Self::read(path, &Self::text_of(path)?, builtins, true)?;
        suite.find_files();
        Ok(suite)
    }

    /// [`Suite::load`] for a side of a comparison: a kernel without its source fails there, and the rest is measured.
    pub fn load_side(path: &Path, builtins: &[Benchmark]) -> Result<Suite> {
        let mut suite = Self::parse(path, &Self::text_of(path)?, builtins)?;
        suite.find_files();
        Ok(suite)
    }

    /// The text of a suite file, unchecked. Errors: it is missing, empty, too large or not UTF-8.
    pub fn text_of(path: &Path) -> Result<String> {
        String::from_utf8(read(path)?).map_err(|error| {
            let good = error.utf8_error().valid_up_to();
            let line = error.as_bytes()[..good].iter().filter(|byte| **byte == b'\n').count() + 1;
            Fault::at_path(path, format!("line {line} is not UTF-8 text"), "save the file as UTF-8")
        })
    }

    /// [`Suite::load`] for text; `path` only gives it a name and a folder, and is not opened.
    pub fn parse(path: &Path, text: &str, builtins: &[Benchmark]) -> Result<Suite> {
        Self::read(path, text, builtins, false)
    }

    /// `looks`: named files must exist.
    fn read(path: &Path, text: &str, builtins: &[Benchmark], looks: bool) -> Result<Suite> {
        // Otherwise every line of it would be reported as a mistake.
        if text.trim_start().starts_with('{') {
            let next = "name a suite file; `gbench-ci report` and `compare` read records and verdicts";
            return Err(Fault::at_path(path, "this is JSON, but a suite file is TOML", next));
        }
        let page = FileText::new(path, Arc::from(text));
        let (tree, errors) = DeTable::parse_recoverable(text);
        for error in &errors {
            let span = error.span().unwrap_or(0..0);
            page.fault(span, format!("this is not TOML: {}", error.message()), SYNTAX);
        }
        let suite = if errors.is_empty() {
            read_suite((path, text, &page), tree.get_ref(), builtins, looks)
        } else {
            // The rest of a recovered tree would be reported again.
            None
        };
        match (suite, page.into_fault()) {
            (Some(suite), None) => Ok(suite),
            (_, Some(fault)) => Err(fault),
            (None, None) => {
                let next =
                    "add a `[[benchmark]]` with an `id` and a `command`, or run `gbench-ci init --force`";
                Err(Fault::at_path(path, "the suite file has no benchmark", next))
            }
        }
    }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    let init = "run `gbench-ci init` to write one, or name another with `--config`";
    if path.is_dir() {
        let next = format!("name the file in it: {}", path.join(FILE_NAME).display());
        return Err(Fault::at_path(path, "this is a folder, not a suite file", next));
    }
    let mut bytes = Vec::new();
    // Non-blocking: opening a FIFO without a writer would block.
    let opened = std::fs::File::options().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path);
    if opened.as_ref().is_ok_and(|file| file.metadata().is_ok_and(|found| found.file_type().is_fifo())) {
        let next = "write it to a file: its paths are relative to its folder";
        return Err(Fault::at_path(path, "this is a FIFO or a pipe, not a file", next));
    }
    let read = opened.and_then(|file| file.take(LARGEST_FILE + 1).read_to_end(&mut bytes));
    match read {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Err(Fault::at_path(path, "there is no such suite file", init))
        }
        Err(error) => Err(Fault::at_path(path, format!("cannot be read: {error}"), "make it readable")),
        Ok(_) if bytes.len() as u64 > LARGEST_FILE => Err(Fault::at_path(
            path,
            "is larger than 4 MiB",
            "name a suite file with `--config`, or write a `matrix` for variants",
        )),
        Ok(_) if bytes.trim_ascii().is_empty() => {
            Err(Fault::at_path(path, "the suite file is empty", "run `gbench-ci init --force` to write one"))
        }
        Ok(_) => Ok(bytes),
    }
}

/// The parser describes its error only in a sentence, so that one advice has to fit every mistake.
const SYNTAX: &str = "write `key = value`: each key once, text in \"quotes\", every quote and bracket closed";

fn read_suite(
    (path, text, page): (&Path, &str, &FileText),
    tree: &DeTable,
    builtins: &[Benchmark],
    looks: bool,
) -> Option<Suite> {
    let mut root = Table::root(page, tree);
    let (name, description) = read_names(root.table("suite"));
    let (mut run, mut profile, mut settings) = <(RunOptions, ProfileOptions, Settings)>::default();
    if let Some(mut table) = root.table("run") {
        run.take(&mut table);
        table.close();
    }
    if let Some(mut table) = root.table("profile") {
        profile.take(&mut table);
        table.close();
    }
    let mut launcher = LauncherOptions::default();
    if let Some(mut table) = root.table("launcher") {
        launcher.take(&mut table);
        table.close();
    }
    let (gate, mut rules) =
        root.table("gate").map(|table| read_gate(table, &mut settings)).unwrap_or_default();
    rules.extend(root.table("metrics").map(|table| metrics_reader::rules(&table)).unwrap_or_default());
    let (mut env, mut keep_env, mut timing) = Default::default();
    if let Some(mut table) = root.table("defaults") {
        settings_reader::take(&mut settings, &mut table);
        env = table.table("env").map(|table| read_env(&table)).unwrap_or_default();
        timing = table.take("timing").and_then(|item| item.word(&TIMINGS));
        keep_env = table.take("keep_env").and_then(|item| read_keep_env(&item)).unwrap_or_default();
        table.close();
    }
    let mut surroundings = FileContext {
        page,
        folder: folder_of(path),
        suite: name.clone(),
        builtins,
        settings,
        timing,
        env,
        keep_env,
        rules,
        looks,
        budget: MAX_POINTS,
    };
    let list = root.take("benchmark");
    let entries = list.and_then(|item| item.list("`[[benchmark]]` with two brackets")).unwrap_or_default();
    if let Some(beyond) = entries.get(MAX_POINTS) {
        let what = format!(
            "this is benchmark {} of {}; the maximum number of cases of a file is {MAX_POINTS}",
            MAX_POINTS + 1,
            entries.len()
        );
        return beyond.refuse(what, "write a `matrix` for variants, or several files");
    }
    let read: Vec<_> = entries.iter().filter_map(|entry| surroundings.benchmark(entry)).collect();
    refuse_duplicates(page, &read);
    refuse_false_renames(page, &read);
    let benchmarks: Vec<_> = read.into_iter().map(|(benchmark, _)| benchmark).collect();
    let declared = root.table("components");
    let components = declared.map(|table| read_components(table, &name, &benchmarks, builtins));
    root.close();
    if benchmarks.is_empty() {
        return None;
    }
    let source = Source::File { path: path.into(), sha256: sha256_hex(text.as_bytes()) };
    let components = components.unwrap_or_default();
    Some(Suite {
        description,
        components,
        gate,
        run,
        profile,
        launcher,
        ..Suite::new(name, source, benchmarks)
    })
}

fn folder_of(path: &Path) -> PathBuf {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::path::absolute(parent).unwrap_or_else(|_| parent.into())
}

/// Name and description. The default name is `suite`, not the folder's: the same benchmark would be two cases in two checkouts.
fn read_names(table: Option<Table>) -> (String, String) {
    let Some(mut table) = table else { return ("suite".into(), String::new()) };
    let name = table.take("name").and_then(|item| {
        let name = item.filled()?;
        if name.contains('/') || format!("{name}/x").parse::<BenchmarkId>().is_err() {
            let next = "use letters, digits, `_`, `-`, `.` and `+` only";
            return item.refuse(format!("`{name}` cannot name a suite"), next);
        }
        Some(name.to_owned())
    });
    let description = table.take("description").and_then(|item| item.text()).unwrap_or("");
    table.close();
    (name.unwrap_or_else(|| "suite".into()), description.into())
}

/// The gate, and its rules for selected cases. Its threshold is one of `settings`.
fn read_gate(mut table: Table, settings: &mut Settings) -> (Gate, Vec<MetricRule>) {
    let mut gate = Gate::default();
    gate.take(&mut table);
    let rules = table.again("rule").map(|list| metrics_reader::gate_rules(&list)).unwrap_or_default();
    set(&mut settings.threshold, table.take("threshold"), Item::ratio);
    if let Some(mut fields) = table.table("match") {
        for (field, usual) in MATCH_FIELDS {
            let Some(item) = fields.take(field) else { continue };
            let mut setting = Setting::default(usual);
            set(&mut setting, Some(item), Item::variant);
            gate.match_key.insert(field.to_owned(), setting);
        }
        fields.close();
    }
    table.close();
    (gate, rules)
}

/// `cpu = ["kernels/gemm"]`: the meaning of `--component cpu`. Ids are those of the file or of built-in benchmarks.
fn read_components(
    mut table: Table,
    suite: &str,
    benchmarks: &[Benchmark],
    builtins: &[Benchmark],
) -> BTreeMap<Component, Vec<BenchmarkId>> {
    let known: Vec<&str> = benchmarks.iter().chain(builtins).map(|benchmark| benchmark.id.as_str()).collect();
    let mut components = BTreeMap::new();
    for component in Component::iter() {
        let Some(item) = table.take(component.into_str()) else { continue };
        let mut ids = Vec::new();
        for member in item.list("a list of benchmark ids, such as [\"kernels/gemm\"]").unwrap_or_default() {
            let Some(id) = read_id(&member, suite) else { continue };
            if !known.contains(&id.as_str()) {
                let near = near(id.as_str(), &known);
                let next = match near.first() {
                    Some(near) => format!("write `{near}`"),
                    None => "name a `[[benchmark]]` of this file or a built-in one".into(),
                };
                member.fault(format!("there is no benchmark `{id}`"), next);
            }
            ids.push(id);
        }
        components.insert(component, ids);
    }
    table.close();
    components
}

/// Refuses an earlier name that two benchmarks claim, or that another benchmark has.
fn refuse_false_renames(page: &FileText, benchmarks: &[(Benchmark, Range<usize>)]) {
    for (index, (benchmark, span)) in benchmarks.iter().enumerate() {
        let Some(before) = &benchmark.renamed_from else { continue };
        if let Some((_, other)) = benchmarks.iter().find(|(other, _)| other.id == *before) {
            let line = page.line(other.start);
            let what = format!(
                "`{}` was renamed from `{before}`, but line {line} still has a benchmark with that name",
                benchmark.id
            );
            page.fault(span.clone(), what, "remove `renamed_from`: an existing benchmark was not renamed");
        }
        let claims = |(other, _): &&(Benchmark, Range<usize>)| other.renamed_from.as_ref() == Some(before);
        if let Some((other, _)) = benchmarks[..index].iter().find(claims) {
            let what = format!("`{}` and `{}` were both renamed from `{before}`", other.id, benchmark.id);
            page.fault(span.clone(), what, "keep `renamed_from` in one of them");
        }
    }
}

fn refuse_duplicates(page: &FileText, benchmarks: &[(Benchmark, Range<usize>)]) {
    let mut seen: BTreeMap<&BenchmarkId, &Range<usize>> = BTreeMap::new();
    for (benchmark, span) in benchmarks {
        if let Some(first) = seen.insert(&benchmark.id, span) {
            let line = page.line(first.start);
            let what = format!("`{}` appears twice; the other is in line {line}", benchmark.id);
            page.fault(span.clone(), what, "give one of them another id, or make it a parameter");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALLEST: &str = "[[benchmark]]\nid = 'x'\ncommand = ['true']\n";

    #[test]
    fn a_byte_order_mark_and_other_line_ends_do_no_harm() {
        let path = Path::new("gbench.toml");
        for text in [format!("\u{feff}{SMALLEST}"), SMALLEST.replace('\n', "\r\n")] {
            let suite = Suite::parse(path, &text, &[]).unwrap();
            assert_eq!(suite.benchmarks[0].declared.to_string(), "gbench.toml:1");
        }
    }

    #[test]
    fn the_hash_is_that_of_the_bytes_and_the_name_is_not_the_folders() {
        let suite = Suite::parse(Path::new("/some/where/gbench.toml"), SMALLEST, &[]).unwrap();
        assert_eq!(suite.name, "suite");
        assert_eq!(suite.benchmarks[0].dir, Path::new("/some/where"));
        let Source::File { sha256, .. } = suite.source else { panic!("a file") };
        // printf "[[benchmark]]\nid = 'x'\ncommand = ['true']\n" | sha256sum
        assert_eq!(sha256, "173c2c119373408608605667ab4ded004242dbd57b14b0d3a2d18767f8474693");
    }

    #[test]
    fn an_endless_file_is_refused() {
        let fault = Suite::load(Path::new("/dev/zero"), &[]).unwrap_err();
        assert_eq!(fault.what, "is larger than 4 MiB");
    }
}
