//! A first suite file from what is in a folder.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use minijinja::context;

use super::template::rendered;
use crate::adapters::BuildStep;
use crate::app::discover::kind_of;
use crate::machine::ignored_by_git;
use crate::model::{Access, DType, Exit, Fault, Result, Timing};
use crate::suite::discover::{
    Discovered, Discovery, FoundKernel, FoundLayout, FoundSources, FoundValue, discover, id_word, literal,
};
use crate::suite::{Action, Benchmark, Extract, ExtractFrom, Suite};

const TEMPLATE: &str = include_str!("templates/suite.toml");
const EXAMPLE: &str = include_str!("templates/suite-example.toml");

/// A suite file that can be written; nothing has been yet.
#[derive(Clone, Debug)]
pub(crate) struct PreparedSuite {
    pub suite: Suite,
    /// Some of its benchmarks are the user's own; else all are built in.
    pub has_own: bool,
    /// Files that look like a benchmark and were not understood, a sentence each.
    pub unclear: Vec<String>,
    /// How many Python modules were found for entries of a layout, by the entry's name.
    pub modules: BTreeMap<String, String>,
    text: String,
}

impl PreparedSuite {
    /// All that looks like a benchmark next to the suite file, else the built-in members.
    pub(crate) fn new(config: &Path, builtins: &[Benchmark]) -> Result<Self> {
        let folder = folder_of(config)?;
        let found = discover(&folder, &ignored_by_git(&folder));
        let name = folder.file_name().map_or_else(|| "suite".into(), |name| id_word(&name.to_string_lossy()));
        let text = compose(&name, &found, builtins)?;
        // Read before it is written: a file that cannot be read back must not replace one that can.
        let suite = Suite::parse(config, &text, builtins).map_err(|fault| fault.exits(Exit::Internal))?;
        let of_layouts = found.benchmarks.iter().filter(|entry| entry.python.is_some());
        let modules = of_layouts.map(|entry| (entry.name.clone(), entry.why.clone())).collect();
        let unclear = found.unclear.into_iter().chain(found.more).collect();
        Ok(Self { suite, has_own: !found.benchmarks.is_empty(), unclear, modules, text })
    }

    /// Errors: a file is there and `force` is not given, or it cannot be written.
    pub(crate) fn write(&self, config: &Path, builtins: &[Benchmark], force: bool) -> Result<()> {
        write(config, &self.text, force)?;
        Suite::load(config, builtins).map(drop).map_err(|fault| fault.exits(Exit::Internal))
    }

    /// Some of its benchmarks are timed as whole processes, and not by a harness.
    pub(crate) fn times_processes(&self) -> bool {
        self.suite.benchmarks.iter().any(|benchmark| benchmark.timing == Timing::Process)
    }
}

/// The folder that a suite file lies in, or is to lie in.
pub(crate) fn folder_of(path: &Path) -> Result<PathBuf> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    parent.canonicalize().map_err(|error| {
        Fault::at_path(parent, format!("this folder cannot be read: {error}"), "make the folder first")
    })
}

fn write(path: &Path, text: &str, force: bool) -> Result<()> {
    let mut options = OpenOptions::new();
    options.write(true);
    if force {
        options.create(true).truncate(true);
    } else {
        // One step, so that a file which appears meanwhile is safe, too.
        options.create_new(true);
    }
    let written = options.open(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => {
            let next = "edit it, or overwrite it with `gbench-ci init --force`";
            Fault::at_path(path, "the file is there already, and init overwrites nothing", next)
        }
        _ => {
            let next = "choose another place with `--config`";
            Fault::at_path(path, format!("cannot be written: {error}"), next).caused_by(&error)
        }
    })
}

/// The text of the file. Each value is quoted by the TOML writer, whatever the folder's files are called.
fn compose(name: &str, found: &Discovery, builtins: &[Benchmark]) -> Result<String> {
    let of_builtin = |member: &Benchmark| {
        let Action::Builtin(name) = &member.action else { return None };
        // Each has thresholds that fit its noise; a value of the file would win over them.
        Some(context! { name => quote(name), description => plain(&member.description) })
    };
    let values = context! {
        name => quote(name),
        found => found.benchmarks.iter().map(entry).collect::<Vec<_>>(),
        harness => found.benchmarks.iter().any(|entry| entry.harness.is_some()),
        timed => found.benchmarks.iter().any(is_timed),
        unclear => found.unclear.iter().chain(&found.more).map(|sentence| plain(sentence)).collect::<Vec<_>>(),
        builtins => builtins.iter().filter_map(of_builtin).collect::<Vec<_>>(),
        example => EXAMPLE,
    };
    rendered(TEMPLATE, ("{{", "}}"), values)
}

fn is_timed(entry: &Discovered) -> bool {
    entry.harness.is_none() && entry.python.is_none() && entry.cuda.is_none()
}

fn entry(entry: &Discovered) -> minijinja::Value {
    let binary = (!entry.binaries.is_empty()).then(|| format!("binary = {}", quote_list(&entry.binaries)));
    // A tracer needs its maker's GPU, which may be one that NVML does not know.
    let is_traced = entry.harness.is_some_and(|harness| harness.0.about().whole.is_some());
    let needs_gpus = entry.gpu && !is_traced;
    let gpu = needs_gpus.then(|| "gpus = 1".to_owned());
    let needs: Vec<String> = binary.into_iter().chain(gpu).collect();
    let build = entry.build.as_ref().map(|build| match build {
        BuildStep::Command(words) => quote_list(words),
        BuildStep::Shell(line) => format!("{{ shell = {} }}", quote(line)),
    });
    context! {
        why => plain(&entry.why),
        title => entry.harness.map(|harness| harness.0.about().title),
        id => quote(&entry.name),
        harness => entry.harness.map(|harness| quote(harness.0.name())),
        command => quote_list(&entry.command),
        file => entry.file.as_deref().map(quote),
        dir => (!entry.dir.is_empty()).then(|| quote(&entry.dir)),
        build,
        env => (!entry.env.is_empty()).then(|| variables(&entry.env)),
        needs_gpus,
        fills_time => entry.fills_time,
        needs => needs.join(", "),
        extract => entry.extract.as_ref().map(extract),
        python => entry.python.as_ref().map(python),
        pairs => entry.pairs.as_ref().map(pairs),
        cuda => entry.cuda.as_ref().map(kernel),
    }
}

fn python(found: &FoundLayout) -> Vec<String> {
    placed(format!("layout = {}", quote(found.layout.into_str())), &found.roots, &found.ignore)
}

fn pairs(found: &FoundSources) -> Vec<String> {
    placed(format!("extension = {}", quote(&found.extension)), &found.roots, &found.ignore)
}

const INDICES: &str = "if these are indices, add range = [0, \"n\"]";

fn kernel(found: &FoundKernel) -> Vec<String> {
    let several = |parts: Vec<String>| match parts.as_slice() {
        [one] => one.clone(),
        _ => format!("[{}]", parts.join(", ")),
    };
    let mut lines = vec![format!("matrix = {{ n = [{}] }}", found.size)];
    lines.extend(found.bytes().map(|bytes| format!("# work = {{ bytes = {} }}", quote(&bytes))));
    lines.extend([
        String::new(),
        "[benchmark.cuda]".into(),
        format!("file = {}", quote(&found.file)),
        format!("entry = {}", quote(&literal(&found.entry))),
        format!("grid = {}", several(found.grid.iter().map(|blocks| quote(blocks)).collect())),
        format!("block = {}", several(found.block.iter().map(u32::to_string).collect())),
    ]);
    lines.extend(found.shared.map(|bytes| format!("shared = {bytes}")));
    lines.extend(found.cooperative.then(|| "cooperative = true".to_owned()));
    if found.arguments.is_empty() {
        return lines;
    }
    lines.push("arguments = [".into());
    for argument in &found.arguments {
        let dtype: &str = argument.dtype.into();
        let table = match &argument.value {
            FoundValue::Buffer { access, length } => {
                format!("{{ {} = \"{dtype}\", length = {} }}", kind_of(*access), quote(length))
            }
            FoundValue::Size => format!("{{ value = \"n\", type = \"{dtype}\" }}"),
            FoundValue::Number(number) => format!("{{ value = {number}, type = \"{dtype}\" }}"),
        };
        let is_index = matches!(argument.dtype, DType::I64 | DType::I32 | DType::U64 | DType::U32)
            && matches!(argument.value, FoundValue::Buffer { access: Access::Input, .. });
        let name = (!argument.name.is_empty()).then(|| plain(&argument.name));
        let said: Vec<String> = name.into_iter().chain(is_index.then(|| INDICES.to_owned())).collect();
        let comment = if said.is_empty() { String::new() } else { format!(" # {}", said.join("; ")) };
        lines.push(format!("    {table},{comment}"));
    }
    lines.push("]".into());
    lines
}

fn placed(first: String, roots: &[String], ignore: &[String]) -> Vec<String> {
    let roots = Some(format!("roots = {}", quote_list(roots)));
    let ignore = (!ignore.is_empty()).then(|| format!("ignore = {}", quote_list(ignore)));
    std::iter::once(first).chain(roots).chain(ignore).collect()
}

fn extract(rule: &Extract) -> String {
    let (key, value) = match &rule.from {
        ExtractFrom::JsonPath(path) => ("json", path),
        ExtractFrom::Regex(pattern) => ("regex", pattern),
        ExtractFrom::CsvColumn { column, .. } => ("csv", column),
    };
    format!(
        "[{{ metric = {}, unit = {}, {key} = {} }}]",
        quote(&rule.metric),
        quote(&rule.unit),
        quote(value)
    )
}

fn variables(env: &[(String, String)]) -> String {
    let set: Vec<String> = env.iter().map(|(name, value)| format!("{name} = {}", quote(value))).collect();
    format!("{{ {} }}", set.join(", "))
}

fn plain(text: &str) -> String {
    text.replace(char::is_control, " ")
}

fn quote(text: &str) -> String {
    toml::Value::from(text).to_string()
}

fn quote_list(texts: &[String]) -> String {
    toml::Value::from(texts.to_vec()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::FILE_NAME;

    fn builtins() -> Vec<Benchmark> {
        let action = Action::Builtin("cpu_flops".into());
        let mut member = Benchmark::new("micro/cpu_flops".parse().unwrap(), action, "/".into());
        member.description = "Matrix product\non the CPU".into();
        vec![member]
    }

    fn init(folder: &Path, force: bool) -> Result<PreparedSuite> {
        let config = folder.join(FILE_NAME);
        let prepared = PreparedSuite::new(&config, &builtins())?;
        prepared.write(&config, &builtins(), force)?;
        Ok(prepared)
    }

    #[test]
    fn an_empty_folder_gets_the_built_in_members() {
        let folder = tempfile::tempdir().unwrap();
        let written = init(folder.path(), false).unwrap();
        assert!(!written.has_own);
        let ids: Vec<String> = written.suite.benchmarks.iter().map(|it| it.id.to_string()).collect();
        assert!(ids[0].ends_with("/cpu_flops"), "{ids:?}");
        let suite = Suite::load(&folder.path().join(FILE_NAME), &builtins()).unwrap();
        assert_eq!(suite.benchmarks[0].action, Action::Builtin("cpu_flops".into()));
    }

    #[test]
    fn an_odd_file_name_becomes_a_benchmark_that_loads() {
        let folder = tempfile::tempdir().unwrap();
        let name = "bench \"{n}\" \\ é.py";
        std::fs::write(folder.path().join(name), "").unwrap();
        init(folder.path(), false).unwrap();
        let suite = Suite::load(&folder.path().join(FILE_NAME), &[]).unwrap();
        let Action::Command(argv) = &suite.benchmarks[0].action else { panic!("a command") };
        let argv = crate::suite::substitute(argv, &Default::default());
        assert_eq!(argv, ["python3", name]);
    }

    #[test]
    fn a_file_that_is_there_is_overwritten_by_force_only() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(FILE_NAME);
        std::fs::write(&file, "mine").unwrap();
        let fault = init(folder.path(), false).unwrap_err();
        assert!(fault.next.contains("--force"));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
        init(folder.path(), true).unwrap();
        assert!(std::fs::read_to_string(&file).unwrap().contains("[suite]"));
    }

    #[test]
    fn only_an_entry_that_requires_gpus_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let run = "if __name__ == \"__main__\":\n    run()\n";
        std::fs::write(folder.path().join("bench_host.py"), "import cupy\n").unwrap();
        let text = init(folder.path(), false).unwrap().text;
        assert!(text.contains("It mentions CUDA") && text.contains("gpus = 1"), "{text}");
        let traced = format!("import triton\n@triton.jit\ndef k(x): pass\n{run}");
        std::fs::write(folder.path().join("bench_host.py"), traced).unwrap();
        let text = init(folder.path(), true).unwrap().text;
        assert!(text.contains("harness = \"kernels\"") && !text.contains("It mentions CUDA"), "{text}");
    }

    #[test]
    fn the_commented_example_is_a_suite_file_once_it_is_uncommented() {
        let lines = EXAMPLE.lines().filter(|line| !line.ends_with(':') && !line.ends_with("its own."));
        let text: String =
            lines.map(|line| format!("{}\n", line.trim_start_matches('#').trim_start())).collect();
        let suite = Suite::parse(Path::new(FILE_NAME), &text, &[]).unwrap();
        assert_eq!(suite.benchmarks[0].points.len(), 4);
    }
}
