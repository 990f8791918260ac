//! One turn of the cases that share processes: a single process at best, and more if that ends early.

use super::launcher::Launcher;
use gbench_suite::plan::PlannedCase;

/// Counts the processes of a turn, and keeps the launcher's total at what the rest of it will probably need.
pub(crate) struct Turn {
    id: String,
    cases: usize,
    pub started: usize,
    /// Of this turn, in [`super::launcher::ProcessCount::total`].
    announced: usize,
}

impl Turn {
    /// The total already includes the processes of the benchmark's last turn, see [`Launcher::processes_of_turn`].
    pub(crate) fn begin(launcher: &Launcher<'_>, cases: &[&PlannedCase]) -> Self {
        let id = cases.first().map_or(String::new(), |case| case.benchmark.id.to_string());
        let announced = launcher.processes_of_turn(&id, cases.len());
        Self { id, cases: cases.len(), started: 0, announced }
    }

    /// The mark in the names of a process's logs.
    pub(crate) fn next_mark(&mut self) -> String {
        self.started += 1;
        if self.started == 1 { String::new() } else { format!(".again-{}", self.started - 1) }
    }

    /// `more`: processes that it will probably need.
    pub(crate) fn expect(&mut self, launcher: &mut Launcher<'_>, more: usize) {
        let now = self.started + more;
        launcher.count.total = (launcher.count.total + now).saturating_sub(self.announced);
        self.announced = now;
    }

    /// True if its benchmark's cases were expected to share one process, and the first one has ended.
    pub(crate) fn is_first(&self, launcher: &Launcher<'_>) -> bool {
        self.started == 1 && !launcher.turns.contains_key(&self.id)
    }

    pub(crate) fn end(self, launcher: &mut Launcher<'_>) {
        if self.cases > 1 {
            launcher.turns.insert(self.id, self.started);
        }
    }
}

impl Launcher<'_> {
    /// The number of processes that one turn of a benchmark's cases will probably take: as the last one, or one.
    pub(crate) fn processes_of_turn(&self, id: &str, cases: usize) -> usize {
        self.turns.get(id).copied().filter(|_| cases > 1).unwrap_or(1)
    }
}
