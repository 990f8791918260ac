//! The current stage of a process, its beginning, and its deadline.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use gbench_model::line::Event;
use gbench_model::{Origin, Setting, Stage, StageReport, StageStatus};

use super::executor::StagePlan;

/// Follows one process through its stages by the gate's own clock, so that even a hung child is detected.
pub(crate) struct StageClock {
    plan: StagePlan,
    current: Stage,
    since: Instant,
    waited: Duration,
    paused: Option<Instant>,
    usual: BTreeMap<Stage, Setting<f64>>,
    done: Vec<StageReport>,
}

impl StageClock {
    pub(crate) fn start(plan: &StagePlan, now: Instant) -> Self {
        Self {
            current: plan.first,
            plan: plan.clone(),
            usual: plan.deadlines.clone(),
            since: now,
            waited: Duration::ZERO,
            paused: None,
            done: Vec::new(),
        }
    }

    pub(crate) fn current(&self) -> Stage {
        self.current
    }

    pub(crate) fn limit(&self) -> f64 {
        self.plan
            .deadlines
            .get(&self.current)
            .map_or(f64::MAX, |setting| setting.value * self.plan.multiplier)
    }

    /// The deadline of the current stage; `None` while it waits for a turn, and if it is beyond any clock.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        if self.paused.is_some() {
            return None;
        }
        let limit = Duration::try_from_secs_f64(self.limit()).ok()?;
        self.since.checked_add(self.waited)?.checked_add(limit)
    }

    pub(crate) fn spent(&self, now: Instant) -> f64 {
        let waited =
            self.waited + self.paused.map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
        now.saturating_duration_since(self.since).saturating_sub(waited).as_secs_f64()
    }

    /// Stops while the process waits for its turn: the other's time is not its own.
    pub(crate) fn pause(&mut self, now: Instant) {
        self.paused.get_or_insert(now);
    }

    pub(crate) fn resume(&mut self, now: Instant) {
        if let Some(since) = self.paused.take() {
            self.waited += now.saturating_duration_since(since);
        }
    }

    /// Applies an event to the stages: see [`stage_of`]; `config` changes limits.
    pub(crate) fn on_event(&mut self, event: &Event, now: Instant) {
        if !self.plan.follows_events {
            return;
        }
        if let Some(stage) = stage_of(event, self.current) {
            self.enter(stage, now);
        }
        match event {
            Event::Config { deadlines, .. } => self.set_limits(deadlines),
            // The requests of an earlier case of the process only apply to that case.
            Event::Case { .. } => self.plan.deadlines.clone_from(&self.usual),
            _ => {}
        }
    }

    fn set_limits(&mut self, deadlines: &BTreeMap<Stage, f64>) {
        for (stage, seconds) in deadlines {
            let setting = self.plan.deadlines.entry(*stage).or_insert_with(|| Setting::default(*seconds));
            setting.set(*seconds, Origin::Benchmark);
        }
    }

    fn enter(&mut self, stage: Stage, now: Instant) {
        if stage != self.current {
            self.close(StageStatus::Completed, now);
            self.current = stage;
            self.since = now;
            self.waited = Duration::ZERO;
            self.paused = self.paused.map(|_| now);
        }
    }

    fn close(&mut self, status: StageStatus, now: Instant) {
        self.done.push(StageReport {
            stage: self.current,
            status,
            seconds: self.spent(now),
            // The longest time that JSON and a reader can make sense of.
            limit: self.limit().min(1e9),
        });
    }

    pub(crate) fn finish(mut self, status: StageStatus, now: Instant) -> Vec<StageReport> {
        self.close(status, now);
        self.done
    }
}

/// The stage after an event, if the event shows it: any event ends `start`, `stage` begins a new one, `case` a setup, `end`
/// the teardown.
pub(crate) fn stage_of(event: &Event, current: Stage) -> Option<Stage> {
    match event {
        Event::Stage { stage } => Some(*stage),
        Event::Case { .. } => Some(Stage::Setup),
        Event::End {} => Some(Stage::Teardown),
        Event::Sample { .. } | Event::Samples { .. } if current == Stage::Start => Some(Stage::Measure),
        Event::Config { .. } => None,
        _ if current == Stage::Start => Some(Stage::Setup),
        _ => None,
    }
}
