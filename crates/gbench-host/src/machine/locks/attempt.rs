//! Takes the locks of a measurement one after the other, as others release them.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::file::LockFile;
use super::holder::{self, LockHolder};
use super::holders::{LockName, holders};

/// The part of the machine that a measurement needs exclusively.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LockScope {
    /// Nothing else may be measured on the machine.
    Machine,
    /// The GPUs with these UUIDs; others may be measured concurrently.
    Gpus(BTreeSet<String>),
}

/// The locks of a measurement. Dropping it releases them.
#[derive(Debug)]
pub struct MeasuringLock {
    _machine: Option<LockFile>,
    _gpus: Vec<LockFile>,
}

/// A gate that is acquiring its locks.
#[derive(Debug)]
pub struct LockAttempt {
    folder: PathBuf,
    /// Sorted UUIDs; `None`: the whole machine.
    wanted: Option<Vec<String>>,
    holder: LockHolder,
    queue: Option<LockFile>,
    machine: Option<LockFile>,
    gpus: Vec<LockFile>,
}

impl LockAttempt {
    pub fn new(folder: PathBuf, scope: LockScope, holder: LockHolder) -> Self {
        let wanted = match scope {
            LockScope::Machine => None,
            LockScope::Gpus(uuids) => Some(uuids.into_iter().collect()),
        };
        Self { folder, wanted, holder, queue: None, machine: None, gpus: Vec::new() }
    }

    /// Takes the locks that are free. True: it has them all. Errors: why a file cannot be a lock.
    pub fn advance(&mut self) -> Result<bool, String> {
        if self.machine.is_none() && !self.take_machine()? {
            return Ok(false);
        }
        for uuid in &self.wanted.as_deref().unwrap_or_default()[self.gpus.len()..] {
            let Some(mut gpu) = LockFile::try_take(&LockName::Gpu(uuid).path(&self.folder), false)? else {
                return Ok(false);
            };
            gpu.write(&self.holder.text());
            self.gpus.push(gpu);
        }
        Ok(true)
    }

    fn take_machine(&mut self) -> Result<bool, String> {
        if self.queue.is_none() {
            let Some(mut queue) = LockFile::try_take(&LockName::Queue.path(&self.folder), false)? else {
                return Ok(false);
            };
            queue.write(&self.holder.text());
            self.queue = Some(queue);
        }
        let shared = self.wanted.is_some();
        let Some(mut machine) = LockFile::try_take(&LockName::Machine.path(&self.folder), shared)? else {
            return Ok(false);
        };
        if !shared {
            machine.write(&self.holder.text());
        }
        self.machine = Some(machine);
        self.queue = None;
        Ok(true)
    }

    /// The holders it waits for: `held by pid 4711 (alice), ...`.
    pub fn obstacle(&self) -> String {
        if self.machine.is_some() {
            let next = self.wanted.as_ref().and_then(|wanted| wanted.get(self.gpus.len()));
            return next.map_or_else(String::new, |uuid| {
                format!("{uuid} is held by {}", holder::of(&LockName::Gpu(uuid).path(&self.folder)))
            });
        }
        let mut said = match holders(&self.folder) {
            Ok(held) if !held.is_empty() => format!("held by {}", held.join("; ")),
            _ => "held".to_owned(),
        };
        if self.queue.is_none() {
            let before = holder::of(&LockName::Queue.path(&self.folder));
            said.push_str(&format!("; {before} waits before this one"));
        }
        said
    }

    pub fn finish(self) -> MeasuringLock {
        MeasuringLock { _machine: self.machine, _gpus: self.gpus }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn attempt(folder: &Path, gpus: &[&str], suite: &str) -> LockAttempt {
        let scope = match gpus {
            [] => LockScope::Machine,
            _ => LockScope::Gpus(gpus.iter().map(|uuid| (*uuid).to_owned()).collect()),
        };
        LockAttempt::new(folder.to_owned(), scope, LockHolder::here("gbench-ci run", suite))
    }

    #[test]
    fn two_gpus_are_measured_on_at_once_and_one_never() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let [mut a, mut b, mut both] =
            [&["GPU-a"][..], &["GPU-b"], &["GPU-b", "GPU-a"]].map(|gpus| attempt(path, gpus, gpus[0]));
        assert!(a.advance().unwrap() && b.advance().unwrap() && !both.advance().unwrap());
        assert!(both.obstacle().starts_with("GPU-a is held by pid "), "{}", both.obstacle());
        let mut all = attempt(path, &[], "all");
        assert!(!all.advance().unwrap());
        assert_eq!(holders(path).unwrap().len(), 2);
        assert!(all.obstacle().contains("GPU-a: pid ") && all.obstacle().contains("suite GPU-b"));
        drop(a.finish());
        assert!(!both.advance().unwrap());
        assert!(both.obstacle().starts_with("GPU-b is held by pid "), "{}", both.obstacle());
        drop(b.finish());
        assert!(both.advance().unwrap());
    }

    #[test]
    fn who_needs_the_whole_machine_is_not_overtaken_by_those_who_share_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let mut first = attempt(path, &["GPU-a"], "first");
        let (mut all, mut late) = (attempt(path, &[], "all"), attempt(path, &["GPU-b"], "late"));
        assert!(first.advance().unwrap() && !all.advance().unwrap() && !late.advance().unwrap());
        assert!(late.obstacle().contains("suite all") && late.obstacle().ends_with("waits before this one"));
        drop(first.finish());
        assert!(!late.advance().unwrap() && all.advance().unwrap() && !late.advance().unwrap());
        assert!(late.obstacle().starts_with("held by pid ") && late.obstacle().contains("suite all"));
        drop(all.finish());
        assert!(late.advance().unwrap() && holders(path).unwrap().len() == 1);
    }

    #[test]
    fn who_gives_up_leaves_nothing_held() {
        let folder = tempfile::tempdir().unwrap();
        let mut holder = attempt(folder.path(), &["GPU-b"], "holder");
        let mut waiting = attempt(folder.path(), &["GPU-a", "GPU-b"], "waiting");
        assert!(holder.advance().unwrap() && !waiting.advance().unwrap());
        drop(waiting);
        assert!(attempt(folder.path(), &["GPU-a"], "next").advance().unwrap());
        assert_eq!(holders(folder.path()).unwrap().len(), 1);
    }
}
