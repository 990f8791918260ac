//! Pairs: `baseline_<name>.py` and its `optimized_<name>[_technique].py` in one folder.
//!
//! An optimized file belongs to the baseline with the longest name that is its own, or that stands before a `_` of it:
//! `optimized_moe_sparse.py` belongs to `moe`, unless there is a `baseline_moe_sparse.py`.

use std::collections::BTreeMap;

use super::call::{CallWay, PythonCall};
use super::folders::{Chosen, leaf, natural, natural_path};
use super::layout::{CudaPair, LayoutCases, LayoutRequest, PassedOver, PythonCase};
use crate::adapters::python::folder;
use crate::adapters::{CaseName, SourceTree};
use crate::model::{ParamValue, Params, Variant};

const BASELINE: &str = "baseline_";
const OPTIMIZED: &str = "optimized_";

/// A baseline with what belongs to it: paths from the tree.
struct Pair<'t> {
    folder: &'t str,
    name: &'t str,
    baseline: &'t str,
    optimized: Vec<&'t str>,
}

pub(super) fn find(request: &LayoutRequest, tree: &dyn SourceTree) -> LayoutCases {
    let chosen = Chosen::of(request, tree, |path| {
        [".py", ".cu"].iter().any(|extension| {
            suffix(path, BASELINE, extension).or(suffix(path, OPTIMIZED, extension)).is_some()
        })
    });
    let mut found =
        LayoutCases { warnings: chosen.warnings, passed_over: chosen.ignored, ..LayoutCases::default() };
    let (pairs, orphans) = paired(&chosen.files, ".py", &mut found.passed_over);
    for pair in pairs {
        found.cases.push(case(&pair, pair.baseline, Variant::Baseline));
        found.cases.extend(pair.optimized.iter().map(|path| case(&pair, path, Variant::Optimized)));
    }
    for path in orphans {
        found.warnings.push(format!(
            "{path} is not measured: {} has no {BASELINE} file whose name it begins with",
            place(path)
        ));
        found.orphans.push(path.to_owned());
    }
    let (pairs, _) = paired(&chosen.files, ".cu", &mut found.passed_over);
    found.cuda.extend(pairs.into_iter().map(|pair| CudaPair {
        folder: pair.folder.to_owned(),
        name: pair.name.to_owned(),
        baseline: pair.baseline.to_owned(),
        optimized: pair.optimized.into_iter().map(str::to_owned).collect(),
    }));
    found
}

fn place(path: &str) -> String {
    match folder(path) {
        "" => "this folder".into(),
        folder => folder.to_owned(),
    }
}

/// What stands between a file's prefix and its extension.
fn suffix<'t>(path: &'t str, prefix: &str, extension: &str) -> Option<&'t str> {
    leaf(path).strip_prefix(prefix)?.strip_suffix(extension)
}

/// The pairs of files with an extension, in natural order, and the optimized files without a baseline.
fn paired<'t>(
    files: &[&'t str],
    extension: &str,
    passed_over: &mut Vec<PassedOver>,
) -> (Vec<Pair<'t>>, Vec<&'t str>) {
    let mut pairs: BTreeMap<(&str, &str), Pair> = BTreeMap::new();
    for path in files {
        match suffix(path, BASELINE, extension) {
            None => {}
            Some("") => passed_over.push(PassedOver {
                path: (*path).to_owned(),
                why: format!("no name stands behind {BASELINE}"),
            }),
            Some(name) => {
                let folder = folder(path);
                let pair = Pair { folder, name, baseline: path, optimized: Vec::new() };
                pairs.insert((folder, name), pair);
            }
        }
    }
    let mut orphans = Vec::new();
    for path in files {
        let Some(name) = suffix(path, OPTIMIZED, extension) else { continue };
        // The longest first.
        let ends = std::iter::once(name.len()).chain(name.rmatch_indices('_').map(|(at, _)| at));
        let owner = ends.map(|end| (folder(path), &name[..end])).find(|key| pairs.contains_key(key));
        match owner.and_then(|key| pairs.get_mut(&key)) {
            Some(pair) => pair.optimized.push(path),
            None => orphans.push(*path),
        }
    }
    let mut pairs: Vec<Pair> = pairs.into_values().collect();
    pairs.sort_by(|one, other| {
        natural_path(one.folder, other.folder).then_with(|| natural(one.name, other.name))
    });
    for pair in &mut pairs {
        pair.optimized.sort_by(|one, other| natural(stem(one), stem(other)));
    }
    (pairs, orphans)
}

/// The file's name without its extension.
fn stem(path: &str) -> &str {
    let name = leaf(path);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

fn case(pair: &Pair, path: &str, variant: Variant) -> PythonCase {
    let text = |text: &str| ParamValue::Text(text.to_owned());
    let mut params = Params::from([("variant".to_owned(), text(variant.into_str()))]);
    let mut native = pair.name.to_owned();
    if !pair.folder.is_empty() {
        params.insert("chapter".into(), text(pair.folder));
        native = format!("{}:{native}", pair.folder);
    }
    if variant == Variant::Optimized {
        let technique = stem(path).strip_prefix(OPTIMIZED).and_then(|name| name.strip_prefix(pair.name));
        if let Some(technique) = technique.and_then(|rest| rest.strip_prefix('_')) {
            params.insert("technique".into(), text(technique));
        }
        native = format!("{native}/{}", stem(path));
    }
    PythonCase {
        name: CaseName { native, case: pair.name.to_owned(), params },
        call: PythonCall::new(CallWay::Class, path),
    }
}
