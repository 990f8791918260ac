//! `gbench-ci describe`: all that is known of a benchmark before it runs. Starts no child.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use serde::Serialize;
use serde_json::{Value, json};

use super::config::settings_table;
use crate::app::discover::kind_of;
use crate::cli::args::{SelectionArgs, SettingsArgs};
use crate::cli::terminal::write::{table, write_json, wrote};
use crate::model::text::count;
use crate::model::{BenchmarkId, Component, Exit, Kind, Params, Result, Shown, Timing};
use crate::run::find_interpreter;
use crate::suite::words::format_size;
use crate::suite::{
    Action, Benchmark, CudaArgument, CudaEntry, CudaFill, CudaReference, ExtractFrom, KernelNumber,
    PythonEntry, PythonSource, Requires,
};

/// Describe benchmarks: all fields and effective settings
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct DescribeArgs {
    /// Ids or globs of benchmarks [default: everything that the flags select]
    #[arg(value_name = "ID")]
    pub ids: Vec<String>,
    #[command(flatten)]
    pub selection: SelectionArgs,
    #[command(flatten)]
    pub settings: SettingsArgs,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

/// The document of `describe --json`.
#[derive(Serialize)]
struct V1Describe {
    schema: &'static str,
    benchmarks: Vec<V1Benchmark>,
}

#[derive(Serialize)]
struct V1Benchmark {
    id: BenchmarkId,
    place: String,
    description: String,
    components: Vec<Component>,
    kind: Kind,
    tags: Vec<String>,
    action: Value,
    /// Null unless the cases are programs of pairs of sources.
    pairs: Value,
    dir: String,
    env: BTreeMap<String, String>,
    keep_env: Vec<String>,
    build: Value,
    device_code: Vec<String>,
    container: Value,
    requires: Value,
    timing: Timing,
    extract: Vec<Value>,
    metrics: Vec<Value>,
    cases: Vec<Params>,
    excluded: usize,
    config: BTreeMap<String, Shown>,
}

pub(crate) fn run(args: &DescribeArgs, builtins: &[Benchmark], out: &mut impl Write) -> Result<Exit> {
    let mut request = args.selection.request()?;
    request.selection.benchmarks.splice(0..0, args.ids.iter().cloned());
    let mut suite = request.suite(builtins)?;
    args.settings.request()?.apply(&mut suite)?;
    if args.json {
        let benchmarks = suite.benchmarks.iter().map(document).collect();
        wrote(write_json(&V1Describe { schema: "gbench-ci/describe/v1", benchmarks }, out))?;
        return Ok(Exit::Pass);
    }
    for (index, benchmark) in suite.benchmarks.iter().enumerate() {
        wrote(write!(out, "{}{}", if index == 0 { "" } else { "\n" }, text(benchmark)))?;
    }
    Ok(Exit::Pass)
}

fn python(entry: &PythonEntry) -> Value {
    let mut said = match &entry.source {
        PythonSource::Layout { layout, roots, ignore } => {
            json!({ "layout": <&str>::from(*layout), "roots": roots, "ignore": ignore })
        }
        PythonSource::Module(module) => json!({
            "file": module.file, "way": <&str>::from(module.way), "name": module.name, "reference": module.reference,
            "tolerances": module.tolerances,
        }),
    };
    said["interpreter"] = json!(entry.interpreter);
    said["options"] = json!(entry.options);
    said
}

fn action(action: &Action) -> Value {
    match action {
        Action::Command(argv) => json!({ "command": argv }),
        Action::Shell(line) => json!({ "shell": line }),
        Action::Builtin(name) => json!({ "builtin": name }),
        Action::Python(entry) => json!({ "python": python(entry) }),
        Action::Cuda(entry) => json!({ "cuda": entry }),
    }
}

fn document(benchmark: &Benchmark) -> V1Benchmark {
    let requires = &benchmark.requires;
    V1Benchmark {
        id: benchmark.id.clone(),
        place: benchmark.declared.to_string(),
        description: benchmark.description.clone(),
        components: benchmark.components.clone(),
        kind: benchmark.kind,
        tags: benchmark.tags.clone(),
        action: action(&benchmark.action),
        pairs: benchmark.pairs.as_ref().map_or(Value::Null, |pairs| {
            json!({ "extension": pairs.extension, "roots": pairs.roots, "ignore": pairs.ignore })
        }),
        dir: benchmark.dir.display().to_string(),
        env: benchmark.env.clone(),
        keep_env: benchmark.keep_env.clone(),
        build: benchmark.build.as_ref().map_or(
            Value::Null,
            |build| json!({ "action": action(&build.action), "dir": build.dir.display().to_string() }),
        ),
        device_code: benchmark.device_code.clone(),
        container: benchmark.container.as_ref().map_or(Value::Null, |it| {
            json!({
                "image": it.image, "runtime": it.runtime.map(|runtime| runtime.into_str()), "network": it.network,
                "gpus": it.gpus, "options": it.options,
            })
        }),
        requires: json!({
            "binary": requires.binaries,
            "file": requires.files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>(),
            "gpus": requires.gpus,
            "gpu_memory": requires.gpu_memory,
            "compute_capability": requires.compute_capability.map(|(major, minor)| format!("{major}.{minor}")),
            "env": requires.env,
        }),
        timing: benchmark.timing,
        extract: extracts(benchmark),
        metrics: metrics(benchmark),
        cases: benchmark.points.clone(),
        excluded: benchmark.excluded,
        config: benchmark.settings.shown(),
    }
}

fn extracts(benchmark: &Benchmark) -> Vec<Value> {
    let extract = benchmark.extract.iter().map(|extract| {
        let (way, text) = match &extract.from {
            ExtractFrom::JsonPath(path) => ("json", path),
            ExtractFrom::Regex(pattern) => ("regex", pattern),
            ExtractFrom::CsvColumn { column, .. } => ("csv", column),
        };
        let mut shown =
            json!({ "metric": extract.metric, "unit": extract.unit, "better": extract.better, way: text });
        if let ExtractFrom::CsvColumn { rows, .. } = &extract.from
            && !rows.is_empty()
        {
            shown["rows"] = json!(rows);
        }
        let rows = &extract.rows;
        let texts = [("file", &rows.file), ("rows", &rows.path)];
        texts.into_iter().filter_map(|(key, text)| Some((key, text.as_ref()?))).for_each(|(key, text)| {
            shown[key] = json!(text);
        });
        if !rows.conditions.is_empty() {
            shown["where"] = json!(rows.conditions);
        }
        if !rows.parameters.is_empty() {
            shown["parameters"] = json!(rows.parameters);
        }
        shown
    });
    extract.collect()
}

fn metrics(benchmark: &Benchmark) -> Vec<Value> {
    let rules = benchmark.metrics.iter().map(|rule| {
        let declared = &rule.declaration;
        json!({
            "glob": rule.glob,
            "unit": rule.unit,
            "better": declared.better,
            "threshold": declared.threshold,
            "gate": declared.gate,
        })
    });
    rules.collect()
}

/// The same fields for people; what is empty stays unsaid.
fn text(benchmark: &Benchmark) -> String {
    let document = document(benchmark);
    let mut rows: Vec<(&str, String)> = vec![
        ("description", document.description),
        (
            "components",
            benchmark.components.iter().map(|component| component.into_str()).collect::<Vec<_>>().join(" "),
        ),
        ("kind", document.kind.into_str().into()),
        ("tags", document.tags.join(" ")),
    ];
    rows.extend(of_action(&benchmark.action, ["command", "shell line", "built-in"]));
    rows.extend(benchmark.cuda().into_iter().flat_map(of_kernel));
    rows.extend(benchmark.python().into_iter().flat_map(|entry| of_python(entry, benchmark)));
    if let Some(pairs) = &benchmark.pairs {
        let of = |globs: &[String]| if globs.is_empty() { "all folders".to_owned() } else { globs.join(" ") };
        rows.push(("pairs of", format!(".{} in {}", pairs.extension, of(&pairs.roots))));
        rows.push(("ignores", pairs.ignore.join(" ")));
    }
    rows.push(("folder", document.dir));
    rows.extend(document.env.iter().map(|(name, value)| ("environment", format!("{name}={value}"))));
    rows.push(("keeps", document.keep_env.join(" ")));
    if let Some(build) = &benchmark.build {
        rows.extend(of_action(&build.action, ["build", "build shell line", "build"]));
        rows.push(("build folder", build.dir.display().to_string()));
    }
    rows.push(("device code in", document.device_code.join(" ")));
    rows.extend(benchmark.container.as_ref().map(|container| ("container", container.image.clone())));
    rows.extend(of_requires(&benchmark.requires));
    rows.push(("timing", words(&json!(document.timing))));
    rows.extend(document.extract.iter().map(|extract| ("extracts", pairs(extract))));
    rows.extend(document.metrics.iter().map(|rule| ("metric rule", pairs(rule))));
    rows.extend(parameters(benchmark).into_iter().map(|line| ("parameter", line)));
    let excluded = match document.excluded {
        0 => String::new(),
        count => format!(" ({count} more excluded by `where`)"),
    };
    rows.push(("cases", format!("{}{excluded}", document.cases.len())));
    rows.push(("declared in", document.place));
    let rows = rows.into_iter().filter(|(_, value)| !value.is_empty());
    let fields = table(&[], rows.map(|(name, value)| vec![format!("  {name}"), value]));
    format!("{}\n{fields}{}", document.id, settings_table("  settings", &document.config))
}

/// The rows for Python modules, and the interpreter that would measure them now.
fn of_python(entry: &PythonEntry, benchmark: &Benchmark) -> Vec<(&'static str, String)> {
    let mut rows = match &entry.source {
        PythonSource::Layout { layout, roots, ignore } => {
            let usual: Vec<String> = layout.default_roots().iter().map(|root| (*root).to_owned()).collect();
            let roots = if roots.is_empty() { &usual } else { roots };
            vec![
                ("layout", <&str>::from(*layout).to_owned()),
                ("roots", roots.join(" ")),
                ("ignores", ignore.join(" ")),
            ]
        }
        PythonSource::Module(module) => {
            let tolerances = module.tolerances.iter().map(|(name, value)| format!("{name}={value}"));
            vec![
                ("module", module.file.clone()),
                ("called as", <&str>::from(module.way).replace('_', "-")),
                ("its name", module.name.clone().unwrap_or_default()),
                ("reference", module.reference.clone().unwrap_or_default()),
                ("tolerances", tolerances.collect::<Vec<_>>().join(" ")),
            ]
        }
    };
    let found = find_interpreter(&entry.interpreter, &benchmark.dir);
    rows.push(("interpreter", found.map_or_else(|cause| format!("none: {cause}"), |words| words.join(" "))));
    rows
}

fn of_kernel(entry: &CudaEntry) -> Vec<(&'static str, String)> {
    let mut rows = vec![
        ("kernel", entry.entry.clone()),
        (if entry.image { "of image" } else { "of file" }, entry.file.clone()),
        ("compiled with", entry.options.join(" ")),
        ("headers in", entry.include.join(" ")),
        ("launch", entry.launch.to_string()),
    ];
    rows.extend(entry.arguments.iter().map(|argument| ("argument", of_argument(argument))));
    if let Some(CudaReference { entry, launch, absolute, relative }) = &entry.reference {
        let said = |tolerance: &Option<f64>| tolerance.map_or("by type".into(), |it| it.to_string());
        let within = format!("within {} + {} * |expected|", said(absolute), said(relative));
        rows.push(("reference", format!("{entry}: {launch}, {within}")));
    }
    let ways = entry.flush_l2.iter().map(|flushed| if *flushed { "cold" } else { "hot" });
    rows.push(("L2 cache", ways.collect::<Vec<_>>().join(", ")));
    rows
}

fn of_argument(argument: &CudaArgument) -> String {
    match argument {
        CudaArgument::Scalar { dtype, value } => format!("{dtype} {value}"),
        CudaArgument::Struct { fields } => {
            format!("struct of {}", fields.iter().map(of_argument).collect::<Vec<_>>().join("; "))
        }
        CudaArgument::TensorMap { buffer, map } => {
            let list =
                |of: &[KernelNumber]| of.iter().map(KernelNumber::to_string).collect::<Vec<_>>().join(" x ");
            format!(
                "tensor map of {}, in boxes of {}, over {}",
                list(&map.dims),
                list(&map.box_dims),
                of_argument(buffer)
            )
        }
        CudaArgument::Buffer { access, dtype, length, fill } => {
            let fill = match fill {
                CudaFill::Usual => "random".into(),
                CudaFill::Uniform { low, high } => format!("random from {low} to {high}"),
                CudaFill::Value { value } => format!("all {value}"),
                CudaFill::Index => "their index".into(),
            };
            format!("{} {dtype} x {length}: {fill}", kind_of(*access))
        }
    }
}

fn of_action(
    action: &Action,
    [command, shell, builtin]: [&'static str; 3],
) -> Option<(&'static str, String)> {
    match action {
        Action::Command(argv) => Some((command, argv.join(" "))),
        Action::Shell(line) => Some((shell, line.clone())),
        Action::Builtin(name) => Some((builtin, name.clone())),
        Action::Python(_) | Action::Cuda(_) => None,
    }
}

fn of_requires(requires: &Requires) -> [(&'static str, String); 6] {
    let some = |number: u64, text: fn(u64) -> String| Some(text(number)).filter(|_| number > 0);
    let capability = requires.compute_capability.map(|(major, minor)| format!("{major}.{minor}"));
    let files: Vec<String> = requires.files.iter().map(|file| file.display().to_string()).collect();
    [
        ("needs programs", requires.binaries.join(" ")),
        ("needs capability", capability.unwrap_or_default()),
        ("needs environment", requires.env.join(" ")),
        ("needs files", files.join(" ")),
        ("needs GPU memory", some(requires.gpu_memory, format_size).unwrap_or_default()),
        ("needs GPUs", some(requires.gpus.into(), |gpus| gpus.to_string()).unwrap_or_default()),
    ]
}

fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(words).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}

/// `peak_*: gate=false threshold=0.1`: what the entry is about, then what it states.
fn pairs(object: &Value) -> String {
    let subject =
        ["glob", "metric"].into_iter().find_map(|key| object.get(key)).map(words).unwrap_or_default();
    let entries = object.as_object().into_iter().flatten();
    let said = entries.filter(|(key, value)| !value.is_null() && *key != "glob" && *key != "metric");
    let said: Vec<_> = said.map(|(key, value)| format!("{key}={}", words(value))).collect();
    format!("{subject}: {}", said.join(" "))
}

/// `n = 1, 2, 4` for each parameter.
fn parameters(benchmark: &Benchmark) -> Vec<String> {
    let mut values: BTreeMap<&str, BTreeSet<_>> = BTreeMap::new();
    for (name, value) in benchmark.points.iter().flatten() {
        values.entry(name).or_default().insert(value);
    }
    let lines = values.into_iter().map(|(name, values)| {
        let number = values.len();
        let shown: Vec<_> = values.into_iter().take(20).map(|value| value.to_string()).collect();
        let more = if number > 20 { format!(" ... ({})", count(number, "value")) } else { String::new() };
        format!("{name} = {}{more}", shown.join(", "))
    });
    lines.collect()
}
