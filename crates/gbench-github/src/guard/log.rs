//! The log of refusals: a line of JSON for each, only ever appended.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::SystemTime;

use nix::fcntl::OFlag;
use serde::Serialize;

use gbench_model::{Fault, Result};

const MAX_CHARS: usize = 300;

/// One refused job in the log. Values are as the runner gave them, also those that a pull request chose.
#[derive(Serialize)]
struct Line<'a> {
    time: String,
    why: String,
    #[serde(flatten)]
    job: std::collections::BTreeMap<&'a str, String>,
}

/// Appends a line. `job`: names and values that are known of the job. Everything but plain ASCII is escaped, so that no
/// name can hide or forge a line for a reader of the log on a terminal.
pub fn append(path: &Path, why: &str, job: &[(&str, Option<String>)]) -> Result<()> {
    let cut = |text: &str| text.chars().take(MAX_CHARS).collect::<String>();
    let line = Line {
        time: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        why: cut(why),
        job: job.iter().filter_map(|(name, value)| Some((*name, cut(value.as_deref()?)))).collect(),
    };
    let next = "make the file writable for the runner's user; the job was refused all the same";
    let fault = |what: String| Fault::at_path(path, what, next);
    let text = serde_json::to_string(&line).map_err(|error| fault(error.to_string()))?;
    let file = OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o640)
        .custom_flags((OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits())
        .open(path);
    // One write, so that two jobs at once do not mix their lines.
    let written = file.and_then(|mut file| file.write_all(format!("{}\n", ascii(&text)).as_bytes()));
    written.map_err(|error| fault(format!("the refusal cannot be written: {error}")))
}

fn ascii(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if c.is_ascii() && c != '\u{7f}' {
            out.push(c)
        } else {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out += &format!("\\u{unit:04x}"))
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n14_a_name_in_the_log_is_escaped_cut_and_reads_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("refusals.jsonl");
        let hostile = "a\n{\"why\":\"\"}\u{1b}[2J\u{202e}\u{7f}😀";
        append(&path, "first", &[("ref", Some(hostile.into())), ("gone", None)]).unwrap();
        append(&path, &"x".repeat(9_999), &[]).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 2);
        assert!(text.bytes().all(|byte| byte == b'\n' || (b' '..0x7f).contains(&byte)), "{text}");
        let first: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        assert_eq!((&first["ref"], first.get("gone")), (&hostile.into(), None));
        assert!(text.lines().nth(1).unwrap().len() < 400);
    }

    #[test]
    fn n14_a_log_that_is_a_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (link, target) = (folder.path().join("log"), folder.path().join("target"));
        std::os::unix::fs::symlink(&target, &link).unwrap();
        assert!(append(&link, "no", &[]).is_err());
        assert!(!target.exists());
    }
}
