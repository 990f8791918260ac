//! Pairs: `baseline_<name>.py` and its `optimized_<name>[_technique].py` in one folder; or sources with another
//! extension.
//!
//! An optimized file belongs to the baseline with the longest name that equals its own, or that precedes one of its `_`:
//! `optimized_moe_sparse.py` belongs to `moe`, unless there is a `baseline_moe_sparse.py`.

use std::collections::{BTreeMap, BTreeSet};

use super::call::{CallWay, PythonCall};
use super::folders::Chosen;
use super::layout::{Layout, LayoutCases, LayoutRequest, PassedOver, PythonCase, SourceCase, SourceCases};
use crate::adapters::interface::adapter::CaseName;
use crate::adapters::interface::source_tree::SourceTree;
use crate::adapters::source::paths::{folder, leaf, stem};
use gbench_model::text::natural::{natural, natural_path};
use gbench_model::text::{count, list};
use gbench_model::{ParamValue, Params, Variant};

const BASELINE: &str = "baseline_";
const OPTIMIZED: &str = "optimized_";
/// Folders that a sentence names; the others are counted.
const MAX_FOLDERS: usize = 5;

struct Pair<'t> {
    folder: &'t str,
    name: &'t str,
    baseline: &'t str,
    optimized: Vec<&'t str>,
}

pub(super) fn find(request: &LayoutRequest, tree: &dyn SourceTree) -> LayoutCases {
    let found = sources(request, tree, "py");
    let case = |SourceCase { name, file }| PythonCase { name, call: PythonCall::new(CallWay::Class, &file) };
    LayoutCases {
        cases: found.cases.into_iter().map(case).collect(),
        warnings: found.warnings,
        passed_over: found.passed_over,
        orphans: found.orphans,
        kernels: Vec::new(),
    }
}

/// The pairs of files with an extension, such as `cu`. `roots` and `ignore`: as in [`LayoutRequest`].
pub fn source_pairs(
    roots: &[String],
    ignore: &[String],
    extension: &str,
    tree: &dyn SourceTree,
) -> SourceCases {
    sources(&LayoutRequest { layout: Layout::Pairs, roots, ignore }, tree, extension)
}

fn sources(request: &LayoutRequest, tree: &dyn SourceTree, extension: &str) -> SourceCases {
    let extension = &format!(".{extension}");
    let chosen = Chosen::of(request, tree, |path| is_member(path, extension));
    let mut found =
        SourceCases { warnings: chosen.warnings, passed_over: chosen.ignored, ..SourceCases::default() };
    let (pairs, orphans) = paired(&chosen.files, extension, &mut found.passed_over);
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
    if !request.roots.is_empty() {
        found.warnings.extend(outside(request, tree, extension, &found));
    }
    found
}

/// Folders with pairs that are neither below a root nor named by `ignore`: files added there would be missed silently.
fn outside(
    request: &LayoutRequest,
    tree: &dyn SourceTree,
    extension: &str,
    found: &SourceCases,
) -> Option<String> {
    let everywhere = LayoutRequest { roots: &[], ..*request };
    let chosen = Chosen::of(&everywhere, tree, |path| is_member(path, extension));
    let (all, _) = paired(&chosen.files, extension, &mut Vec::new());
    let taken: BTreeSet<&str> = found.cases.iter().map(|case| case.file.as_str()).collect();
    let missed: Vec<&Pair> =
        all.iter().filter(|pair| !pair.optimized.is_empty() && !taken.contains(pair.baseline)).collect();
    let mut folders: Vec<String> = missed.iter().map(|pair| place(pair.baseline)).collect();
    folders.dedup();
    let (pairs, of) = (count(missed.len(), "pair"), list(&folders, MAX_FOLDERS));
    let (verb, are) = if missed.len() == 1 { ("lies", "is") } else { ("lie", "are") };
    (!missed.is_empty()).then(|| {
        format!("{pairs} {verb} outside `roots` and {are} not measured: in {of}; widen `roots`, or name them under `ignore`")
    })
}

fn place(path: &str) -> String {
    match folder(path) {
        "" => "this folder".into(),
        folder => folder.to_owned(),
    }
}

fn is_member(path: &str, extension: &str) -> bool {
    [BASELINE, OPTIMIZED].iter().any(|prefix| suffix(path, prefix, extension).is_some())
}

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
            Some("") => passed_over
                .push(PassedOver { path: (*path).to_owned(), why: format!("no name follows {BASELINE}") }),
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

fn case(pair: &Pair, path: &str, variant: Variant) -> SourceCase {
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
    SourceCase { name: CaseName { native, case: pair.name.to_owned(), params }, file: path.to_owned() }
}
