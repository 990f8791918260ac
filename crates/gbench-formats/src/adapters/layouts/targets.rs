//! The cases that a word selects: `ch1:moe` a pair, `ch1:moe_sparse` its baseline and that one variant, `ch1` a whole
//! folder.

use std::collections::BTreeSet;

use super::layout::PythonCase;
use gbench_model::{ParamValue, near};

/// Why a word selects no cases.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    #[error("nothing here is called `{word}`")]
    Unknown { word: String, near: Vec<String> },
    #[error("`{word}` may be {}", names.join(", "))]
    Ambiguous {
        word: String,
        /// The unambiguous names.
        names: Vec<String>,
    },
}

/// A name that selects a case, and the number of different cases with it.
struct Target<'c> {
    folder: &'c str,
    name: String,
    cases: Vec<&'c PythonCase>,
}

impl Target<'_> {
    fn whole(&self) -> String {
        if self.folder.is_empty() { self.name.clone() } else { format!("{}:{}", self.folder, self.name) }
    }
}

/// The cases that a word selects, in their order: `[folder:]name`, where the name is that of a pair, of one of its
/// variants (`moe_sparse`: the baseline `moe` and `optimized_moe_sparse.py`), or of a kernel (`kernels/gelu`, or `gelu`).
/// A folder alone selects all in it; its last parts are enough (`ch13` for `code/ch13`) if only one folder ends with them.
/// Without a folder, or by the part of a name before a `_` (`moe` for `moe_dense`), the target must be unique.
pub fn targets<'c>(cases: &'c [PythonCase], word: &str) -> Result<Vec<&'c PythonCase>, TargetError> {
    let all = all(cases);
    let folders: BTreeSet<&str> = cases.iter().map(|case| text(case, "chapter")).collect();
    let (folder, name) = word.rsplit_once(':').map_or((None, word), |(folder, name)| (Some(folder), name));
    let folder = folder.map(|folder| whole_folder(&folders, folder, name)).transpose()?.flatten().or(folder);
    let in_folder: Vec<&Target> =
        all.iter().filter(|target| folder.is_none_or(|folder| target.folder == folder)).collect();
    let whole: Vec<&Target> = in_folder.iter().filter(|target| target.name == name).copied().collect();
    if !whole.is_empty() {
        return one(word, &whole);
    }
    let folder_alone = if name.is_empty() { folder.unwrap_or(word) } else { word };
    if let Some(alone) = whole_folder(&folders, folder_alone, "")? {
        return Ok(cases.iter().filter(|case| text(case, "chapter") == alone).collect());
    }
    let begins = |target: &&&Target| {
        let rest = target.name.strip_prefix(name).and_then(|rest| rest.strip_prefix('_'));
        let leaf = target.name.rsplit('/').next() == Some(name);
        !name.is_empty() && (rest.is_some() || leaf)
    };
    let aliased: Vec<&Target> = in_folder.iter().filter(begins).copied().collect();
    if !aliased.is_empty() {
        return one(word, &pairs_alone(&aliased));
    }
    let alone = folders.iter().filter(|folder| !folder.is_empty()).map(|folder| (*folder).to_owned());
    let known: Vec<String> = all.iter().map(Target::whole).chain(alone).collect();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let near = near(word, &known).into_iter().map(str::to_owned).collect();
    Err(TargetError::Unknown { word: word.to_owned(), near })
}

/// The folder that is called so, or the only one whose path ends so. Errors: several paths end so.
fn whole_folder<'c>(
    folders: &BTreeSet<&'c str>,
    folder: &str,
    name: &str,
) -> Result<Option<&'c str>, TargetError> {
    let exact = folders.get(folder).copied();
    let ends = |path: &&&str| path.strip_suffix(folder).is_some_and(|before| before.ends_with('/'));
    let ending: Vec<&str> = folders.iter().filter(ends).copied().collect();
    match (exact, ending.as_slice()) {
        _ if folder.is_empty() => Ok(None),
        (Some(exact), _) => Ok(Some(exact)),
        (None, [] | [_]) => Ok(ending.first().copied()),
        (None, several) => {
            let whole =
                |path: &&str| if name.is_empty() { (*path).to_owned() } else { format!("{path}:{name}") };
            let names = several.iter().map(whole).collect();
            Err(TargetError::Ambiguous { word: folder.to_owned(), names })
        }
    }
}

fn one<'c>(word: &str, found: &[&Target<'c>]) -> Result<Vec<&'c PythonCase>, TargetError> {
    if let [only] = found {
        return Ok(only.cases.clone());
    }
    let names = found.iter().map(|target| target.whole()).collect();
    Err(TargetError::Ambiguous { word: word.to_owned(), names })
}

/// Targets that are not a variant of another result: `moe` for `moe_dense` and its `moe_dense_fast`.
fn pairs_alone<'t, 'c>(found: &[&'t Target<'c>]) -> Vec<&'t Target<'c>> {
    let is_part = |target: &Target| {
        found.iter().any(|other| {
            other.folder == target.folder
                && other.cases.len() >= target.cases.len()
                && other.name.len() < target.name.len()
                && target.cases.iter().all(|case| other.cases.iter().any(|same| std::ptr::eq(*same, *case)))
        })
    };
    found.iter().filter(|target| !is_part(target)).copied().collect()
}

/// Every pair, every named variant, every kernel, in the order of the cases.
fn all(cases: &[PythonCase]) -> Vec<Target<'_>> {
    let mut found: Vec<Target> = Vec::new();
    for case in cases {
        let (folder, name) = (text(case, "chapter"), case.name.case.as_str());
        match found.iter_mut().rev().find(|target| (target.folder, target.name.as_str()) == (folder, name)) {
            Some(target) => target.cases.push(case),
            None => found.push(Target { folder, name: name.to_owned(), cases: vec![case] }),
        }
        let technique = text(case, "technique");
        if technique.is_empty() {
            continue;
        }
        let baseline = found
            .iter()
            .rev()
            .find(|target| (target.folder, target.name.as_str()) == (folder, name))
            .and_then(|target| target.cases.first())
            .filter(|first| text(first, "technique").is_empty());
        let cases = baseline.copied().into_iter().chain([case]).collect();
        found.push(Target { folder, name: format!("{name}_{technique}"), cases });
    }
    found
}

fn text<'c>(case: &'c PythonCase, name: &str) -> &'c str {
    match case.name.params.get(name) {
        Some(ParamValue::Text(text)) => text,
        _ => "",
    }
}
