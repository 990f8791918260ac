//! Finds the cases of `[benchmark.python]` and `[benchmark.pairs]`: by the names of files and the `bench.yaml` next to them, or
//! by the parameters of one module. Does not run Python.

use std::path::Path;

use serde_json::{Value, json};

use crate::benchmark::definition::Benchmark;
use crate::benchmark::harness::Listing;
use crate::benchmark::launch::Action;
use crate::benchmark::python::{PythonEntry, PythonModule, PythonSource};
use crate::discover::findings::{Discovered, Discovery};
use crate::discover::found_layout::FoundLayout;
use crate::discover::tree::FolderTree;
use crate::suite::Suite;
use gbench_formats::adapters::CaseName;
use gbench_formats::adapters::layouts::{self, CallWay, LayoutRequest, PythonCall, PythonCase};
use gbench_model::{ParamValue, Params};

impl Suite {
    /// Sets the cases of Python modules and of source pairs to the files that are now in their folders.
    pub fn find_files(&mut self) {
        for benchmark in &mut self.benchmarks {
            benchmark.find_modules();
            benchmark.find_sources();
        }
    }

    /// The findings of its layouts, with unused files. `folder`: the suite file's.
    pub fn layouts(&self, folder: &Path) -> Discovery {
        let mut found = Discovery::default();
        for benchmark in &self.benchmarks {
            let Some(PythonEntry {
                source: PythonSource::Layout { layout, roots, ignore },
                found: cases,
                ..
            }) = benchmark.python()
            else {
                continue;
            };
            found.orphans.extend(cases.orphans.iter().cloned());
            found.passed_over.extend(cases.passed_over.iter().cloned());
            let dir = benchmark.dir.strip_prefix(folder).unwrap_or(&benchmark.dir);
            found.benchmarks.push(Discovered {
                name: benchmark.id.name().to_owned(),
                dir: dir.to_string_lossy().into_owned(),
                python: Some(FoundLayout {
                    layout: *layout,
                    roots: roots.clone(),
                    ignore: ignore.clone(),
                    cases: cases.clone(),
                }),
                why: "the suite file names it".into(),
                ..Discovered::default()
            });
        }
        found
    }
}

impl Benchmark {
    /// The module of a case, relative to the benchmark's folder.
    pub fn python_file(&self, params: &Params) -> Option<&str> {
        let native = self.harness.as_ref()?.native(params)?;
        Some(&self.python()?.calls.get(native)?.file)
    }

    /// True if the cases are files and none was found.
    pub fn has_no_files(&self) -> bool {
        self.python().is_some_and(|entry| entry.calls.is_empty())
            || self.pairs.as_ref().is_some_and(|pairs| pairs.files.is_empty())
    }

    /// Warnings about the files that were found.
    pub fn said_of_files(&self) -> &[String] {
        match (self.python(), &self.pairs) {
            (Some(entry), _) => &entry.found.warnings,
            (None, Some(pairs)) => &pairs.warnings,
            (None, None) => &[],
        }
    }

    fn find_modules(&mut self) {
        let Some(mut entry) = self.python().cloned() else { return };
        let found = match entry.source.clone() {
            PythonSource::Module(module) => of_module(&module, &self.points, &entry),
            PythonSource::Layout { .. } => of_layout(&mut entry, &self.dir),
        };
        let nothing = found.is_empty();
        let (names, calls): (Vec<CaseName>, Vec<PythonCall>) = found.into_iter().unzip();
        let natives = names.iter().map(|name| name.native.clone());
        entry.calls = natives.zip(calls).collect();
        self.action = Action::Python(Box::new(entry));
        self.take_cases(names);
        let all_left_out = self.points.is_empty();
        if all_left_out {
            self.points.push(Params::new());
            let (cause, advice) = match nothing {
                _ if nothing => (
                    "no module of its layout is below its folders",
                    "check `roots` and `dir`; `gbench-ci discover` lists the modules",
                ),
                _ => ("no module matches `cases`", "loosen the patterns in `cases`"),
            };
            if let Some(harness) = &mut self.harness {
                harness.listing = Listing::Failed { cause: cause.into(), advice: advice.into() };
            }
        }
    }
}

fn of_module(module: &PythonModule, points: &[Params], entry: &PythonEntry) -> Vec<(CaseName, PythonCall)> {
    let PythonModule { file, way, name, reference, tolerances } = module;
    let of = |point: &Params| {
        let words: Vec<String> = point.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let mut call = PythonCall::new(*way, file);
        (call.reference, call.tolerances) = (reference.clone(), tolerances.clone());
        call.params = point.iter().map(|(name, value)| (name.clone(), json_of(value))).collect();
        let place = if *way == CallWay::Class { &mut call.class } else { &mut call.function };
        place.clone_from(name);
        let native = match words.as_slice() {
            [] => file.to_owned(),
            words => format!("{file}[{}]", words.join(",")),
        };
        let mut params = point.clone();
        params.extend(entry.options.identity());
        (CaseName { native, case: String::new(), params }, call)
    };
    points.iter().map(of).collect()
}

fn json_of(value: &ParamValue) -> Value {
    match value {
        ParamValue::Bool(value) => json!(value),
        ParamValue::Int(value) => json!(value),
        ParamValue::Float(value) => json!(value),
        ParamValue::Text(value) => json!(value),
    }
}

fn of_layout(entry: &mut PythonEntry, dir: &Path) -> Vec<(CaseName, PythonCall)> {
    let PythonSource::Layout { layout, roots, ignore } = &entry.source else { return Vec::new() };
    let tree = FolderTree::walk(dir, &|_| false);
    entry.found = layouts::find(&LayoutRequest { layout: *layout, roots, ignore }, &tree);
    entry.found.warnings.extend(tree.left_out());
    let identity = entry.options.identity();
    let named = |PythonCase { mut name, call }| {
        name.params.extend(identity.clone());
        (name, call)
    };
    entry.found.cases.iter().cloned().map(named).collect()
}
