//! Stand-ins for the programs of profilers, in a folder of a test's own.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

pub struct StandIns {
    folder: TempDir,
}

impl StandIns {
    /// `mode`: how they behave: `well`, `hang`, `fail`, `bare` (no report), `silent` (nothing in it), `cut`, `stream`,
    /// `old` (ncu without filters), `sick` (compute-sanitizer finds errors).
    pub fn new(mode: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stand_in_profilers");
        for name in ["nsys", "ncu", "compute-sanitizer"] {
            std::fs::copy(scripts.join(name), folder.path().join(name)).unwrap();
        }
        std::fs::write(folder.path().join("mode"), mode).unwrap();
        Self { folder }
    }

    fn at(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// The variables that name them.
    pub fn env(&self) -> Vec<(&'static str, String)> {
        vec![
            ("GBENCH_NSYS", self.at("nsys")),
            ("GBENCH_NCU", self.at("ncu")),
            ("GBENCH_COMPUTE_SANITIZER", self.at("compute-sanitizer")),
        ]
    }

    /// A line for each call, with its arguments.
    pub fn calls(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.folder.path().join("calls")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

/// Those variables where none of the programs is.
pub fn missing() -> Vec<(&'static str, String)> {
    ["GBENCH_NSYS", "GBENCH_NCU", "GBENCH_COMPUTE_SANITIZER"]
        .map(|name| (name, "/no/such/profiler".to_owned()))
        .to_vec()
}

/// The files of a run's `profiles`, by name.
pub fn reports(run: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(run.join("profiles")).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The only folder of a `profile` command below `artifacts`.
pub fn profile_folder(root: &Path) -> PathBuf {
    let entries = std::fs::read_dir(root.join("artifacts")).unwrap().map(|entry| entry.unwrap().path());
    let mut found = entries
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("profile-")));
    let only = found.next().expect("a folder of profiles");
    assert!(found.next().is_none());
    only
}
