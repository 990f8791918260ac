//! The holder of a lock: written for gates that wait, and read with distrust.

use std::fmt;
use std::path::Path;
use std::time::SystemTime;

use nix::unistd::{User, gethostname, getuid};
use serde::{Deserialize, Serialize};

use super::file;
use gbench_model::text::is_unseen;

/// Bytes to read of a file that any user may write.
const MOST_BYTES: usize = 4096;
/// Characters to show of each word.
const MOST_CHARACTERS: usize = 80;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LockHolder {
    pid: u32,
    user: String,
    /// Containers have separate process ids.
    host: String,
    /// For example `gbench-ci compare`.
    command: String,
    suite: String,
    /// UTC, RFC 3339.
    since: String,
}

impl LockHolder {
    /// This process, as the holder from now on.
    pub fn here(command: &str, suite: &str) -> Self {
        let user = User::from_uid(getuid()).ok().flatten();
        Self {
            pid: std::process::id(),
            user: user.map_or_else(|| format!("uid {}", getuid()), |user| user.name),
            host: host(),
            command: command.to_owned(),
            suite: suite.to_owned(),
            since: now(),
        }
    }

    pub(super) fn text(&self) -> String {
        // Numbers and text always convert to JSON.
        serde_json::to_string(&Self { since: now(), ..self.clone() }).unwrap_or_default()
    }

    /// `None`: the text does not describe a holder.
    fn read(text: &[u8]) -> Option<Self> {
        let holder: Self = serde_json::from_slice(text).ok()?;
        (holder.pid > 0).then_some(holder)
    }
}

impl fmt::Display for LockHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pid {}", self.pid)?;
        if !self.host.is_empty() && self.host != host() {
            write!(f, " on {}", plain(&self.host))?;
        }
        for (before, word, after) in [
            (" (", &self.user, ")"),
            (", ", &self.command, ""),
            (", suite ", &self.suite, ""),
            (", since ", &self.since, ""),
        ] {
            if !word.is_empty() {
                write!(f, "{before}{}{after}", plain(word))?;
            }
        }
        Ok(())
    }
}

pub(super) fn of(path: &Path) -> String {
    let holder = LockHolder::read(&file::text_of(path, MOST_BYTES));
    holder.map_or_else(|| "a process that does not say who it is".into(), |holder| holder.to_string())
}

fn plain(word: &str) -> String {
    let shown = |c: char| if c.is_control() || is_unseen(c) { '?' } else { c };
    word.chars().take(MOST_CHARACTERS).map(shown).collect()
}

fn host() -> String {
    gethostname().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn now() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_holder_says_who_it_is_and_what_it_measures_since_when() {
        let mut holder = LockHolder::here("gbench-ci compare", "kernels");
        (holder.pid, holder.user) = (4711, "alice".into());
        let read = LockHolder::read(holder.text().as_bytes()).unwrap();
        let said = read.to_string();
        let expected = "pid 4711 (alice), gbench-ci compare, suite kernels, since 2";
        assert!(said.starts_with(expected) && said.ends_with('Z'), "{said}");
        let elsewhere = LockHolder { host: "box-in-a-box".into(), ..read };
        assert!(elsewhere.to_string().starts_with("pid 4711 on box-in-a-box (alice)"));
    }

    #[test]
    fn what_others_write_is_cut_and_commands_no_terminal() {
        let text =
            format!(r#"{{"pid": 7, "user": "\u001b[2J\u202eeve\n", "suite": "{}"}}"#, "x".repeat(3000));
        let said = LockHolder::read(text.as_bytes()).unwrap().to_string();
        assert!(said.starts_with("pid 7 (?[2J?eve?), suite xxx"), "{said}");
        assert!(said.chars().count() < 120);
        for nonsense in [&b""[..], b"{", b"\xff\xfe", b"[]", b"{}", br#"{"pid": -1}"#, br#"{"pid": 0}"#] {
            assert_eq!(LockHolder::read(nonsense), None);
        }
    }
}
