//! Where `run --export` writes: a path that may contain the run's own names, so that many runs fill one folder.

use std::path::{Path, PathBuf};

use crate::model::{Fault, Result};

/// A path with placeholders that are all known.
#[derive(Clone, Debug)]
pub(crate) struct Pattern(PathBuf);

impl Pattern {
    /// Checks the placeholders; called before anything is measured. A path that is not UTF-8 and a brace without
    /// its partner stand for themselves.
    pub(crate) fn new(path: &Path) -> Result<Self> {
        let text = path.to_str().unwrap_or_default();
        let unknown = placeholders(text).find(|name| !matches!(*name, "suite" | "run_id"));
        let Some(name) = unknown else { return Ok(Self(path.to_owned())) };
        let next = "use {suite} and {run_id}, or a name without braces";
        Err(Fault::at_flag(format!("--export {text}"), format!("`{{{name}}}` is not a placeholder"), next))
    }

    pub(crate) fn path(&self, suite: &str, run_id: &str) -> PathBuf {
        match self.0.to_str() {
            // One after the other is safe: a suite's name is made free of braces.
            Some(text) => text.replace("{suite}", &file_name(suite)).replace("{run_id}", run_id).into(),
            None => self.0.clone(),
        }
    }
}

/// The suite's name as a part of a file's name: it must not climb into another folder.
fn file_name(suite: &str) -> String {
    suite.replace(|c: char| !c.is_alphanumeric() && !"-_.+ ".contains(c), "_")
}

fn placeholders(text: &str) -> impl Iterator<Item = &str> {
    let after_opening = text.split('{').skip(1);
    after_opening.filter_map(|rest| rest.split_once('}').map(|(name, _)| name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_placeholders_are_refused_and_lone_braces_are_not() {
        for (path, unknown) in [
            ("out/{suite}_{run_id}.json", None),
            ("plain.json", None),
            ("a{b.json", None),
            ("a}b{.json", None),
            ("{suite}{date}.json", Some("`{date}`")),
            ("{}.json", Some("`{}`")),
            ("{Suite}.json", Some("`{Suite}`")),
        ] {
            let fault = Pattern::new(Path::new(path)).err();
            assert_eq!(fault.is_some(), unknown.is_some(), "{path}");
            if let (Some(fault), Some(unknown)) = (fault, unknown) {
                assert!(fault.what.contains(unknown), "{}", fault.what);
                assert_eq!(fault.place.to_string(), format!("--export {path}"));
            }
        }
    }

    #[test]
    fn a_suites_name_stays_in_its_folder() {
        assert_eq!(file_name("kernels-2.b"), "kernels-2.b");
        assert_eq!(file_name("../a/{run_id}"), ".._a__run_id_");
    }
}
