//! A change that touches nothing of what the suite measures, where the base's suite file lists it (`[gate] paths`):
//! nothing is measured, which the job reports. The change's own list is not asked.

use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use git2::{DiffOptions, Repository, Tree};

use super::base::BaseSelection;
use super::note::RunnerNote;
use crate::app::compare::suite_of_commit::{path_in, suite_of_commit};
use crate::app::paths::project_root;
use crate::app::reports::verdict_files::json_of;
use crate::github::commands::Level;
use crate::github::{Context, WorkflowEvent};
use crate::machine::open_repository;
use crate::model::{Fault, Job, Result, RunId, Untouched};
use crate::report::github as render;
use crate::store::{create_ignored_dir, write_atomically};
use crate::suite::{self, Benchmark, CudaEntry, Suite};

/// True if the change leaves alone all that the base's suite measures. `None`: it does not, or the suite does not say what
/// that is. A base that was chosen by hand is compared in any case, and so is a run that is about no change.
pub(super) fn of(
    config: &Path,
    context: Option<&Context>,
    chosen: &BaseSelection,
    builtins: &[Benchmark],
) -> Result<Option<Untouched>> {
    let is_change =
        context.is_some_and(|it| it.pull_request.is_some() || matches!(it.event, WorkflowEvent::MergeGroup));
    if !is_change || chosen.choice.by_hand {
        return Ok(None);
    }
    let folder = config.parent().unwrap_or(config);
    let Ok(repository) = open_repository(folder) else { return Ok(None) };
    let Some(file) = path_in(&repository, config) else { return Ok(None) };
    let tree = |commit: &str| repository.find_commit(git2::Oid::from_str(commit)?)?.tree();
    let trees = tree(chosen.base.as_str()).and_then(|base| Ok((base, tree(chosen.head.as_str())?)));
    let (base, head) =
        trees.map_err(|error| Fault::at("the commits", error.message(), "fetch both commits"))?;
    // A file that is not there or cannot be read is a matter of the comparison, which records that.
    let Some((paths, kernels)) = paths_of(&repository, chosen.base.as_str(), &file, builtins) else {
        return Ok(None);
    };
    let changed = changed(&repository, &base, &head)
        .map_err(|error| Fault::at("the change", error.message(), "fetch both commits whole"))?;
    let own = file.to_string_lossy();
    let is_input = |path: &Option<String>| {
        // A pattern cannot match a name that is not UTF-8, so such a file counts as touched.
        path.as_ref().is_none_or(|path| {
            *path == own || suite::fits(&paths, path) || kernels.iter().any(|kernel| kernel.has(path))
        })
    };
    let files = u32::try_from(changed.len()).unwrap_or(u32::MAX);
    Ok((!changed.iter().any(is_input)).then_some(Untouched { files, paths }))
}

fn paths_of(
    repository: &Repository,
    base: &str,
    file: &Path,
    builtins: &[Benchmark],
) -> Option<(Vec<String>, Vec<KernelSource>)> {
    let suite = suite_of_commit(repository, base, file, builtins)?;
    let root = repository.workdir()?;
    let kernels = suite.benchmarks.iter().filter_map(|it| Some((it.cuda()?, &it.dir)));
    let kernels = kernels.map(|(entry, dir)| KernelSource::of(entry, dir, root)).collect();
    Some((suite.gate.paths.value, kernels)).filter(|(paths, _)| !paths.is_empty())
}

/// The files that a kernel may be compiled from, as far as its entry shows: all that is in its file's folder and below, and
/// in its folders of headers. Included files may have any name. Paths are from the root of the repository.
struct KernelSource {
    folders: Vec<PathBuf>,
}

impl KernelSource {
    fn of(entry: &CudaEntry, dir: &Path, root: &Path) -> Self {
        let below = |path: &Path| Some(plain(path).strip_prefix(plain(root)).ok()?.to_owned());
        let include = entry.include.iter().filter_map(|folder| below(&dir.join(folder)));
        Self { folders: below(&entry.folder(dir)).into_iter().chain(include).collect() }
    }

    fn has(&self, path: &str) -> bool {
        self.folders.iter().any(|folder| Path::new(path).starts_with(folder))
    }
}

fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => _ = plain.pop(),
            part => plain.push(part),
        }
    }
    plain
}

/// The paths that differ, each name of a file that was moved. `None` for one that is not UTF-8 text.
fn changed(
    repository: &Repository,
    base: &Tree<'_>,
    head: &Tree<'_>,
) -> std::result::Result<Vec<Option<String>>, git2::Error> {
    let mut options = DiffOptions::new();
    options.include_typechange(true).ignore_submodules(false);
    let diff = repository.diff_tree_to_tree(Some(base), Some(head), Some(&mut options))?;
    let name = |bytes: Option<&[u8]>| Some(String::from_utf8(bytes?.to_vec()).ok());
    let mut paths: Vec<Option<String>> = diff
        .deltas()
        .flat_map(|delta| [name(delta.old_file().path_bytes()), name(delta.new_file().path_bytes())])
        .flatten()
        .collect();
    paths.sort();
    paths.dedup();
    Ok(paths)
}

/// Leaves behind what the publishing job needs. Gives the folder.
pub(super) fn leave(
    config: &Path,
    artifacts: Option<&Path>,
    job: &Job,
    page: &str,
    builtins: &[Benchmark],
) -> Result<PathBuf> {
    let here = Suite::load_side(config, builtins)?;
    let below = artifacts.unwrap_or(&here.run.artifacts.value);
    let artifacts = project_root(&here)?.join(below);
    let id = RunId::new(SystemTime::now(), std::process::id());
    let folder = artifacts.join(id.as_str());
    let made = create_ignored_dir(&artifacts).and_then(|()| std::fs::create_dir_all(folder.join("reports")));
    made.map_err(|error| {
        let next = "name another folder with `--artifacts`";
        Fault::at_path(&folder, format!("cannot be written: {error}"), next)
    })?;
    write_atomically(&folder.join("job.json"), &json_of(job)?)?;
    write_atomically(&folder.join("reports/untouched.md"), page.as_bytes())?;
    Ok(folder)
}

/// The annotation of such a job: a green job without it would pass for measured.
pub(super) fn note(untouched: &Untouched) -> RunnerNote {
    let message = render::untouched_words(untouched);
    RunnerNote { level: Level::Notice, ..RunnerNote::warning("nothing was measured", message) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_may_be_compiled_from_all_in_its_folder_and_in_its_folders_of_headers() {
        let entry = CudaEntry {
            file: "./cuda/saxpy.cu".into(),
            include: vec!["../include".into(), "/usr/local/include".into()],
            ..CudaEntry::default()
        };
        let source = KernelSource::of(&entry, Path::new("/r/kernels"), Path::new("/r/"));
        for path in [
            "kernels/cuda/saxpy.cu",
            "kernels/cuda/deep/tile.cuh",
            "kernels/cuda/gemm.cu",
            "kernels/cuda/a.tpp",
            "kernels/cuda/table",
            "include/any.txt",
        ] {
            assert!(source.has(path), "{path}");
        }
        for path in ["kernels/a.h", "kernels/cuda.h", "included/a.h", "saxpy.cu"] {
            assert!(!source.has(path), "{path}");
        }
    }
}
