//! The programs of source pairs: their cases, and the commands that build and start them. Does not run a compiler.

use crate::benchmark::definition::Benchmark;
use crate::benchmark::harness::CASE;
use crate::benchmark::launch::{Action, Build};
use crate::benchmark::source_pairs::{FOLDER, PARTS, PROGRAM, SOURCE};
use crate::benchmark::template::substitute;
use crate::discover::tree::FolderTree;
use gbench_formats::adapters::layouts::{SourceCase, source_pairs};
use gbench_model::{ParamValue, Params};

impl Benchmark {
    /// Adds a case for each source of a pair that is now in its folder.
    pub(super) fn find_sources(&mut self) {
        let Some(mut pairs) = self.pairs.take() else { return };
        let tree = FolderTree::walk(&self.dir, &|_| false);
        let found = source_pairs(&pairs.roots, &pairs.ignore, &pairs.extension, &tree);
        pairs.warnings = found.warnings;
        pairs.warnings.extend(tree.left_out());
        let point = |SourceCase { name, file }| {
            let mut params = name.params;
            params.insert(CASE.into(), ParamValue::Text(name.case));
            (params, file)
        };
        let found: Vec<(Params, String)> = found.cases.into_iter().map(point).collect();
        self.points = found.iter().map(|(params, _)| params.clone()).collect();
        if self.points.is_empty() {
            self.points.push(Params::new());
        }
        pairs.files = found.into_iter().collect();
        self.pairs = Some(pairs);
    }

    /// The command of a case. `builtin`: the words before a built-in's name.
    pub fn argv(&self, params: &Params, builtin: &[&str]) -> Vec<String> {
        self.action.argv(&self.words(params), builtin)
    }

    /// The build step of a case, with the case's source.
    pub fn build_of(&self, params: &Params) -> Option<Build> {
        let build = self.build.as_ref()?;
        let action = match &build.action {
            Action::Command(argv) if self.pairs.is_some() => {
                let words = substitute(argv, &self.words(params));
                Action::Command(words.iter().map(|word| word.replace('{', "{{").replace('}', "}}")).collect())
            }
            other => other.clone(),
        };
        Some(Build { action, dir: build.dir.clone() })
    }

    pub fn source_of(&self, params: &Params) -> Option<&str> {
        self.pairs.as_ref()?.files.get(params).map(String::as_str)
    }

    fn words(&self, params: &Params) -> Params {
        let mut words = params.clone();
        if let Some(source) = self.source_of(params) {
            let folder = source.rsplit_once('/').map_or(".", |(folder, _)| folder);
            let program = source.rsplit_once('.').map_or(source, |(program, _)| program);
            for name in PARTS {
                words.entry(name.to_owned()).or_insert_with(|| ParamValue::Text(String::new()));
            }
            for (name, text) in [(SOURCE, source), (PROGRAM, program), (FOLDER, folder)] {
                words.insert(name.into(), ParamValue::Text(text.into()));
            }
        }
        words
    }
}
