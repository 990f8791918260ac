//! Waits, for a bounded time, until the GPU is idle and not throttled.

use std::thread;
use std::time::{Duration, Instant};

use crate::run::session::event::Progress;
use crate::run::session::launcher::Launcher;
use gbench_model::{CalmWait, Unrest};
use gbench_suite::plan::PlannedCase;

const PAUSE: Duration = Duration::from_millis(200);

/// A card's utilisation covers its last second; before that, it may include the run's own process.
const OWN_WORK: Duration = Duration::from_millis(1200);

/// Waits up to `limit` while `unrest` finds something and `stop` is false. `begun` is called once with the causes. `None`: the
/// GPU was idle at once.
pub fn wait_for_calm(
    limit: Duration,
    unrest: &mut dyn FnMut(bool) -> Vec<Unrest>,
    stop: &mut dyn FnMut() -> bool,
    begun: &mut dyn FnMut(&[Unrest]),
) -> Option<CalmWait> {
    let began = Instant::now();
    let mut now = unrest(false);
    if now.is_empty() {
        return None;
    }
    let mut causes = now.clone();
    if !limit.is_zero() {
        begun(&causes);
    }
    while !now.is_empty() && began.elapsed() < limit && !stop() {
        thread::sleep(PAUSE.min(limit.saturating_sub(began.elapsed())));
        now = unrest(began.elapsed() > OWN_WORK);
        for cause in &now {
            if !causes.iter().any(|known| known.is_alike(cause)) {
                causes.push(cause.clone());
            }
        }
    }
    Some(CalmWait { seconds: began.elapsed().as_secs_f64(), causes, in_vain: !now.is_empty() })
}

impl Launcher<'_> {
    /// Before a process of a case. After one wait that ran out, later processes start at once until the GPU was idle again.
    pub(crate) fn wait_for_calm(&mut self, case: &PlannedCase) -> Option<Box<CalmWait>> {
        let limit = if self.gave_up { 0.0 } else { self.session.calm_wait };
        let until = self.until();
        let session = &mut self.session;
        let probe = session.probe.as_mut()?;
        probe.concern(case);
        let (executor, observer) = (&mut *session.executor, &mut *session.observer);
        let wait = wait_for_calm(
            Duration::try_from_secs_f64(limit).unwrap_or_default(),
            &mut |waited| probe.unrest(waited),
            &mut || executor.is_interrupted() || until.is_some_and(|until| Instant::now() >= until),
            &mut |causes| observer.on(&Progress::WaitsForCalm { causes, limit }),
        );
        self.gave_up = wait.as_ref().is_some_and(|wait| wait.in_vain);
        if limit > 0.0
            && let Some(wait) = &wait
        {
            observer.on(&Progress::WaitedForCalm { wait });
        }
        wait.map(Box::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy() -> Vec<Unrest> {
        vec![Unrest::Busy { gpu: 0, utilization: 50.0 }]
    }

    #[test]
    fn nothing_is_waited_for_where_it_is_calm_or_no_time_is_given() {
        let wait = |limit, found: Vec<Unrest>| {
            let mut told = 0;
            let wait = wait_for_calm(limit, &mut |_| found.clone(), &mut || false, &mut |_| told += 1);
            (wait.map(|wait| wait.in_vain), told)
        };
        assert_eq!(wait(Duration::from_secs(60), Vec::new()), (None, 0));
        assert_eq!(wait(Duration::ZERO, busy()), (Some(true), 0));
    }

    #[test]
    fn it_ends_when_it_is_calm_when_it_is_stopped_and_when_the_time_is_over() {
        let mut looks = 0;
        let mut twice = |_| {
            looks += 1;
            if looks < 3 { busy() } else { Vec::new() }
        };
        let minute = Duration::from_secs(60);
        let wait = wait_for_calm(minute, &mut twice, &mut || false, &mut |_| {}).unwrap();
        assert!(!wait.in_vain);
        assert_eq!(wait.causes.len(), 1, "the same cause is named once");
        let stopped = wait_for_calm(minute, &mut |_| busy(), &mut || true, &mut |_| {}).unwrap();
        assert!(stopped.in_vain);
        let short = Duration::from_millis(1);
        assert!(wait_for_calm(short, &mut |_| busy(), &mut || false, &mut |_| {}).unwrap().in_vain);
    }
}
