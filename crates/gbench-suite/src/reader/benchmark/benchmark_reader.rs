//! Reads a `[[benchmark]]`: its program, folder, parameters and settings.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::action_reader::{
    check_placeholders, read_action, read_build, read_dir, refuse_in_shell, refuse_placeholders,
};
use super::container_reader::read_container;
use super::cuda_reader::{is_hip, read_cuda};
use super::harness_reader::read_harness;
use super::metrics_reader;
use super::requires_reader::read_requires;
use super::source_pairs_reader::read_source_pairs;
use super::sweep_reader::{constrain, sweep};
use super::work_reader::read_work;
use crate::benchmark::definition::Benchmark;
use crate::benchmark::extraction::MetricRule;
use crate::benchmark::launch::Action;
use crate::reader::file_patterns;
use crate::reader::file_text::FileText;
use crate::reader::item::Item;
use crate::reader::settings_reader;
use crate::reader::table::Table;
use crate::words::{advise, listed};
use gbench_formats::adapters::Harness;
use gbench_model::{
    BenchmarkId, Component, LayOver, Origin, Params, Setting, Settings, Thermal, Timing, near,
};

pub(crate) struct FileContext<'a> {
    pub page: &'a FileText,
    pub folder: PathBuf,
    pub suite: String,
    pub builtins: &'a [Benchmark],
    /// `[gate] threshold` and `[defaults]`, which override those of a built-in member.
    pub settings: Settings,
    /// `[defaults] timing`, for commands without `timing`.
    pub timing: Option<Timing>,
    pub env: BTreeMap<String, String>,
    pub keep_env: Vec<String>,
    pub rules: Vec<MetricRule>,
    pub looks: bool,
    /// Combinations of parameters that the file may still make.
    pub budget: usize,
}

impl FileContext<'_> {
    /// Reads an entry; returns it with the span of its id. A faulty value is reported and replaced, so that the other keys are
    /// checked, too.
    pub(crate) fn benchmark(&mut self, entry: &Item) -> Option<(Benchmark, Range<usize>)> {
        let mut table = entry.table()?;
        table.name = "[[benchmark]]".into();
        let id = table.need("id", "`id = \"name\"`");
        let named = id.as_ref().and_then(|item| read_id(item, &self.suite));
        let action = read_action(&mut table);
        let mut it = match &action {
            Some((Action::Builtin(name), item)) => self.builtin(name, item),
            Some((action, _)) => Some(nameless(action.clone(), &self.folder)),
            None => None,
        }
        .unwrap_or_else(|| nameless(Action::Shell(String::new()), &self.folder));
        it.declared = self.page.place(entry.span.start);

        self.settings.lay_over(&mut it.settings);
        settings_reader::take(&mut it.settings, &mut table);
        if it.settings.threshold.origin != Origin::Default {
            // A built-in member's thresholds are defaults, also those of single metrics: the file overrides them.
            it.metrics.iter_mut().for_each(|rule| rule.declaration.threshold = None);
        }
        self.describe(&mut it, &mut table);
        if let Some((Action::Cuda(_), item)) = &action
            && is_hip(item)
        {
            // Requirements count NVIDIA's cards. The process itself looks for AMD's.
            it.requires.gpus = 0;
        }
        self.surround(&mut it, &mut table);
        self.time(&mut it, &mut table, action.as_ref().map(|(action, _)| action));
        check_turns(&mut it, &table);
        let build = table.take("build");
        // The sources of pairs are relative to the benchmark's folder.
        let build_folder = if table.again("pairs").is_some() { it.dir.clone() } else { self.folder.clone() };
        it.build = build.as_ref().and_then(|item| read_build(item, &build_folder)).or(it.build);
        let of_pairs = read_source_pairs(&mut it, &mut table);
        let names = of_pairs.unwrap_or_else(|| self.points(&mut it, &mut table));
        if let Some((Action::Cuda(_), item)) = &action {
            read_cuda(&mut it, item, &names, self.looks, &mut self.budget);
        }
        check_sharing(&mut it, &table, &names);
        read_harness(&mut it, &mut table);
        read_container(&mut it, &mut table);
        read_work(&mut it, &mut table, &names);
        if let Some((Action::Command(_), item)) = &action {
            let is_program =
                it.harness.as_ref().and_then(|entry| entry.harness).is_some_and(Harness::takes_folder);
            let out = is_program.then(|| "out".to_owned());
            let names: Vec<String> = names.iter().cloned().chain(out).collect();
            check_placeholders(item, &names);
        }
        match &build {
            Some(build) if it.pairs.is_some() => {
                check_placeholders(build, &names);
                refuse_in_shell(build, it.build.as_ref(), &names);
            }
            Some(build) => refuse_placeholders(build, &names),
            None => {}
        }
        table.close();
        it.id = named?;
        Some((it, id?.span))
    }

    fn builtin(&self, wanted: &str, item: &Item) -> Option<Benchmark> {
        let name = |member: &Benchmark| match &member.action {
            Action::Builtin(name) => name.clone(),
            _ => member.id.name().to_owned(),
        };
        if let Some(member) = self.builtins.iter().find(|member| name(member) == wanted) {
            return Some(Benchmark { dir: self.folder.clone(), ..member.clone() });
        }
        let known: Vec<_> = self.builtins.iter().map(name).collect();
        let known: Vec<_> = known.iter().map(String::as_str).collect();
        item.refuse(format!("there is no built-in benchmark `{wanted}`"), advise(wanted, &known))
    }

    fn describe(&self, it: &mut Benchmark, table: &mut Table) {
        set(&mut it.description, table.take("description").and_then(|item| item.text()).map(str::to_owned));
        set(&mut it.components, table.take("components").and_then(|item| components(&item)));
        set(&mut it.kind, table.take("kind").and_then(|item| item.variant()));
        let group = table.take("group").and_then(|item| item.filled());
        it.group = group.map(str::to_owned).or(it.group.take());
        it.load = table.take("load").and_then(|item| item.filled()).map(str::to_owned).or(it.load.take());
        it.renamed_from = table.take("renamed_from").and_then(|item| read_id(&item, &self.suite));
        set(&mut it.tags, table.take("tags").and_then(|item| item.texts("[\"quick\"]")).map(unique));
    }

    fn surround(&self, it: &mut Benchmark, table: &mut Table) {
        set(&mut it.dir, table.take("dir").and_then(|item| read_dir(&item, &self.folder)));
        it.env.extend(self.env.clone());
        it.env.extend(table.table("env").map(|env| read_env(&env)).unwrap_or_default());
        it.keep_env.extend(self.keep_env.clone());
        it.keep_env.extend(table.take("keep_env").and_then(|item| read_keep_env(&item)).unwrap_or_default());
        it.keep_env = unique(std::mem::take(&mut it.keep_env));
        set(&mut it.device_code, table.take("device_code").and_then(|item| file_patterns::below(&item)));
        let gpus = it.requires.gpus;
        set(&mut it.requires, table.table("requires").map(|table| read_requires(table, &self.folder, gpus)));
        let own = table.table("metrics").map(|rules| metrics_reader::rules(&rules)).unwrap_or_default();
        it.metrics =
            own.into_iter().chain(self.rules.clone()).chain(std::mem::take(&mut it.metrics)).collect();
    }

    fn time(&self, it: &mut Benchmark, table: &mut Table, action: Option<&Action>) {
        let (timing, extract) = (table.take("timing"), table.take("extract"));
        if let Some(list) = &extract {
            it.extract = metrics_reader::extracts(list);
        }
        let usual = match action {
            _ if extract.is_some() => Timing::Stdout,
            Some(Action::Builtin(_) | Action::Python(_) | Action::Cuda(_)) => Timing::Protocol,
            _ => self.timing.unwrap_or(Timing::Process),
        };
        it.timing = timing.as_ref().and_then(|item| item.word(&TIMINGS)).unwrap_or(usual);
        match (&timing, &extract) {
            (Some(timing), None) if it.timing == Timing::Stdout => timing.fault(
                "`timing = \"stdout\"` needs an extraction",
                "add a `[[benchmark.extract]]` with a `metric` and `json`, `regex` or `csv`",
            ),
            (Some(timing), Some(_)) if it.timing != Timing::Stdout => timing.fault(
                "`extract` reads numbers from stdout, which contradicts `timing`",
                "remove `timing` or `extract`",
            ),
            _ => {}
        }
    }

    fn points(&mut self, it: &mut Benchmark, table: &mut Table) -> Vec<String> {
        let (matrix, zip, conditions) = (table.table("matrix"), table.table("zip"), table.take("where"));
        if matrix.is_none() && zip.is_none() {
            // A built-in member may have points, which the file then narrows.
            let names: Vec<String> = it.points.first().into_iter().flat_map(Params::keys).cloned().collect();
            self.budget = self.budget.saturating_sub(it.points.len());
            it.excluded += conditions.map_or(0, |item| constrain(&item, &names, &mut it.points));
            return names;
        }
        if let Action::Builtin(member) = &it.action {
            let tables = matrix.iter().chain(&zip);
            check_member_parameters(member, &it.points, tables.flat_map(Table::items));
        }
        let sweep = sweep(matrix, zip, conditions, self.page, &mut self.budget);
        (it.points, it.excluded) = (sweep.points, sweep.excluded);
        sweep.names
    }
}

/// Reports parameters that a built-in member lacks: all of their cases would measure the same. Members without parameters
/// accept any names.
fn check_member_parameters<'t>(member: &str, points: &[Params], items: impl Iterator<Item = Item<'t>>) {
    let known: Vec<&str> = points.first().into_iter().flat_map(Params::keys).map(String::as_str).collect();
    for item in items.filter(|item| !known.is_empty() && !known.contains(&item.key)) {
        let what = format!("`{member}` has no parameter `{}`", item.key);
        let next = format!("{}; it has {}", advise(item.key, &known), listed(&known));
        let next = if near(item.key, &known).is_empty() { advise(item.key, &known) } else { next };
        item.page.fault(item.key_span.clone(), what, next);
    }
}

pub(crate) const TIMINGS: [(&str, Timing); 3] =
    [("protocol", Timing::Protocol), ("process", Timing::Process), ("stdout", Timing::Stdout)];

/// Only a benchmark with the protocol can take turns. In `[defaults]` the key is for those that can.
fn check_turns(it: &mut Benchmark, table: &Table) {
    if it.timing == Timing::Protocol || !it.settings.lockstep.value {
        return;
    }
    it.settings.lockstep = Setting::default(false);
    if let Some(item) = table.again("lockstep") {
        let next = "add `timing = \"protocol\"` if it speaks the protocol, or remove `lockstep`";
        item.fault("`lockstep` is for programs that speak the protocol", next);
    }
}

/// A process for several points needs the protocol to distinguish them, and a command without placeholders. In `[defaults]` the
/// key is for benchmarks that can share.
fn check_sharing(it: &mut Benchmark, table: &Table, names: &[String]) {
    if !it.settings.share.value {
        return;
    }
    let named = |argument: &String| names.iter().find(|name| argument.contains(&format!("{{{name}}}")));
    let named = match &it.action {
        Action::Command(argv) => argv.iter().find_map(named),
        _ => None,
    };
    let (what, next) = match named {
        _ if it.timing != Timing::Protocol => (
            "`share` is for programs that speak the protocol".to_owned(),
            "add `timing = \"protocol\"` if it speaks the protocol, or remove `share`",
        ),
        _ if matches!(it.action, Action::Builtin(_)) => {
            ("built-in benchmarks measure one point in a process".to_owned(), "remove `share`")
        }
        _ if matches!(it.action, Action::Cuda(_)) => {
            ("a process measures one kernel at one point".to_owned(), "remove `share`")
        }
        Some(name) => (
            format!("`command` has `{{{name}}}`, but a shared process has several values of `{name}`"),
            "remove it and read the request's `cases`, or remove `share`",
        ),
        None if it.settings.lockstep.value => {
            ("a shared process cannot take turns".to_owned(), "set `lockstep = false` or `share = false`")
        }
        None if it.settings.thermal.value == Thermal::Cold => (
            "after the first case a shared process is no longer cold".to_owned(),
            "set `cold = false` or `share = false`",
        ),
        None => return,
    };
    it.settings.share = Setting::default(false);
    if let Some(item) = table.again("share").filter(|item| item.flag() == Some(true)) {
        item.fault(what, next);
    }
}

fn nameless(action: Action, folder: &Path) -> Benchmark {
    #[expect(clippy::unwrap_used)]
    let id = "file/nameless".parse().unwrap();
    let is_kernel = matches!(action, Action::Cuda(_));
    let mut it = Benchmark::new(id, action, folder.into());
    if is_kernel {
        it.components = vec![Component::Gpu];
        it.requires.gpus = 1;
    }
    it
}

fn set<T>(field: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *field = value;
    }
}

fn unique<T: PartialEq>(values: Vec<T>) -> Vec<T> {
    let mut unique = Vec::new();
    for value in values {
        if !unique.contains(&value) {
            unique.push(value);
        }
    }
    unique
}

pub(crate) fn read_id(item: &Item, suite: &str) -> Option<BenchmarkId> {
    let text = item.filled()?;
    let full = if text.contains('/') { text.to_owned() } else { format!("{suite}/{text}") };
    let read: Result<BenchmarkId, String> = full.parse();
    read.map_err(|what| item.fault(what, "write an id such as \"kernels/gemm\", or \"gemm\" alone")).ok()
}

fn components(item: &Item) -> Option<Vec<Component>> {
    let members = item.list("a list of components, such as [\"gpu\", \"ram\"]")?;
    Some(unique(members.iter().filter_map(|member| member.variant()).collect()))
}

pub(crate) fn read_env(table: &Table) -> BTreeMap<String, String> {
    let mut env = BTreeMap::new();
    for item in table.items() {
        check_env_name(item.key, &item, item.key_span.clone());
        if let Some(value) = item.text() {
            env.insert(item.key.to_owned(), value.to_owned());
        }
    }
    env
}

pub(crate) fn read_keep_env(item: &Item) -> Option<Vec<String>> {
    let names = item.texts("[\"HF_TOKEN\"]")?;
    for name in &names {
        check_env_name(name, item, item.span.clone());
    }
    Some(names)
}

fn check_env_name(name: &str, item: &Item, span: Range<usize>) {
    if name.is_empty() || name.contains(['=', '\0']) {
        let what = format!("`{}` cannot name an environment variable", name.escape_default());
        item.page.fault(span, what, "use letters, digits and `_`");
    }
}
