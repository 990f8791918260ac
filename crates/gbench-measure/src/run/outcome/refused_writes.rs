//! Finds the write that a sandbox refused in a process's output, for advice only. No verdict or outcome depends on it.

use std::path::{Path, PathBuf};

use crate::run::process::executor::Execution;
use gbench_model::{Outcome, Sandbox};

/// The kernel's refusal in the words of the C library, Rust, Python and Node.
const REFUSALS: [&str; 3] = ["Permission denied", "os error 13", "EACCES"];

pub(crate) fn advised(mut outcome: Outcome, sandbox: Option<&Sandbox>, execution: &Execution) -> Outcome {
    let (Outcome::Failed { advice, .. } | Outcome::TimedOut { advice, .. } | Outcome::Invalid { advice, .. }) =
        &mut outcome
    else {
        return outcome;
    };
    let Some(sandbox) = sandbox else { return outcome };
    let place = [&execution.stderr, &execution.stdout].into_iter().find_map(|output| {
        let bytes = output.bytes();
        refused(&String::from_utf8_lossy(&bytes), sandbox)
    });
    if let Some(place) = place {
        let folder = if place.is_dir() { place.as_path() } else { place.parent().unwrap_or(&place) };
        advice.push_str(&format!(
            "; its sandbox refused to write {}: let it write into its own folder, HOME or TMPDIR, or allow the place with \
             `writable = [\"{}\"]` below [gate] in the base's suite file; `--no-sandbox` measures without",
            place.display(),
            folder.display(),
        ));
    }
    outcome
}

fn refused(output: &str, sandbox: &Sandbox) -> Option<PathBuf> {
    let lines = output.lines().rev().filter(|line| REFUSALS.iter().any(|words| line.contains(words)));
    // A path in the side's home may lead through a link into the user's home.
    let real = |place: PathBuf| match place.canonicalize() {
        Ok(real) => real,
        Err(_) => match (place.parent().and_then(|parent| parent.canonicalize().ok()), place.file_name()) {
            (Some(parent), Some(name)) => parent.join(name),
            _ => place,
        },
    };
    let is_own = |place: &PathBuf| sandbox.writable.iter().any(|own| place.starts_with(own));
    lines.flat_map(places).map(real).find(|place| !is_own(place))
}

fn places(line: &str) -> impl Iterator<Item = PathBuf> {
    let ends = |c: char| c.is_whitespace() || "'\"`‘’“”:,;()[]".contains(c);
    let words = line.split(ends).filter(|word| word.starts_with('/') && word.len() > 1);
    words.map(|word| Path::new(word.trim_end_matches('.')).to_owned()).collect::<Vec<_>>().into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_found_in_the_words_of_real_programs() {
        let sandbox = Sandbox { writable: vec!["/tree".into()], ..Sandbox::default() };
        let place = |output: &str| refused(output, &sandbox).map(|place| place.display().to_string());
        for said in [
            "sh: 1: cannot create /data/x: Permission denied",
            "touch: cannot touch '/data/x': Permission denied",
            "PermissionError: [Errno 13] Permission denied: '/data/x'",
            "error: failed to open `/data/x`: Permission denied (os error 13)",
            "Error: EACCES: permission denied, mkdir '/data/x'",
        ] {
            assert_eq!(place(said).as_deref(), Some("/data/x"), "{said}");
        }
        assert_eq!(place("cannot create /tree/x: Permission denied"), None);
        assert_eq!(place("no such file: /data/x"), None);
    }
}
