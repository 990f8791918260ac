use std::fs;
use std::path::{Path, PathBuf};

use crate::store::journal::RunFolder;
use gbench_model::Profiler;

const PROFILES: &str = "profiles";

pub(super) struct ProfileFiles {
    folder: PathBuf,
    stem: String,
    profiler: Profiler,
}

impl ProfileFiles {
    pub(super) fn new(folder: &RunFolder, stem: &str, profiler: Profiler) -> Self {
        Self { folder: folder.root().join(PROFILES), stem: stem.to_owned(), profiler }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    fn at(&self, suffix: &str) -> PathBuf {
        self.folder.join(format!("{}{suffix}", self.stem))
    }

    pub(super) fn report(&self) -> PathBuf {
        self.at(match self.profiler {
            Profiler::Nsys => ".nsys-rep",
            Profiler::Ncu => ".ncu-rep",
            Profiler::Torch => "_torch_trace.json",
            Profiler::Memcheck => ".memcheck.txt",
            Profiler::Racecheck => ".racecheck.txt",
            Profiler::Initcheck => ".initcheck.txt",
            Profiler::Synccheck => ".synccheck.txt",
        })
    }

    pub(super) fn table(&self) -> PathBuf {
        self.at("_torch_table.txt")
    }

    pub(super) fn stream(&self) -> PathBuf {
        self.at(".qdstrm")
    }

    pub(super) fn export(&self) -> PathBuf {
        self.at(".sqlite")
    }

    /// Removes files of an earlier process with the same names, which must not be taken for this one's.
    pub(super) fn clear(&self) -> std::io::Result<()> {
        for path in [self.report(), self.table(), self.stream(), self.export()] {
            match fs::remove_file(path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    pub(super) fn reports(&self) -> Vec<String> {
        let there = [self.report(), self.table()].into_iter().filter(|path| path.is_file());
        let name = |path: PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned());
        there.filter_map(name).map(|name| format!("{PROFILES}/{name}")).collect()
    }
}
