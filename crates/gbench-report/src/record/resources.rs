//! Resources that the processes of a case took beside their time.

use crate::layout::number;
use gbench_model::{CaseRecord, ProcessRecord};

/// The most that one process of a case took, as text, and where the record holds nothing of it, that.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Resources {
    pub name: String,
    /// Largest resident set of the process or of one of its descendants, else what the program stated.
    pub resident: String,
    /// Peak of the device's memory, as the program stated it.
    pub device: String,
    /// User and system time with all descendants.
    pub cpu: String,
    /// As the program, or a result file, states it.
    pub energy: String,
}

impl Resources {
    /// The row of a table behind the case's name in its form.
    pub(crate) fn row(&self, name: String) -> [String; 5] {
        [name, self.resident.clone(), self.device.clone(), self.cpu.clone(), self.energy.clone()]
    }
}

const NOTHING: &str = "not measured";

/// One entry a case of which anything is known, in the record's order; and how many were started of which nothing is.
pub(super) fn find(cases: &[(&CaseRecord, String)]) -> (Vec<Resources>, usize) {
    let started = cases.iter().filter(|(case, _)| !case.processes.is_empty());
    let all = started.map(|(case, name)| Resources {
        name: name.clone(),
        resident: most(case, "B", |process| process.peak_rss_bytes.map(|bytes| bytes as f64))
            .or_else(|| stated(case, "host_peak_bytes"))
            .unwrap_or(NOTHING.into()),
        device: most(case, "B", |process| process.device_peak_bytes.map(|bytes| bytes as f64))
            .unwrap_or(NOTHING.into()),
        cpu: most(case, "s", |process| process.cpu_seconds).unwrap_or(NOTHING.into()),
        energy: energy(case).unwrap_or(NOTHING.into()),
    });
    let is_known = |case: &Resources| {
        [&case.resident, &case.device, &case.cpu, &case.energy].iter().any(|text| *text != NOTHING)
    };
    let (known, unknown): (Vec<_>, Vec<_>) = all.partition(is_known);
    (known, unknown.len())
}

/// Of the complete processes, else of those that did not end well: what they took before is known all the same.
fn most(case: &CaseRecord, unit: &str, part: impl Fn(&ProcessRecord) -> Option<f64>) -> Option<String> {
    let of = |complete: bool| {
        let processes = case.processes.iter().filter(|process| process.outcome.is_measured() == complete);
        processes.filter_map(&part).max_by(f64::total_cmp)
    };
    let broken = || Some(format!("{} (not complete)", number::value(of(false)?, unit)));
    of(true).map(|most| number::value(most, unit)).or_else(broken)
}

/// The most that a sample of a metric `energy` has, where there is one.
fn energy(case: &CaseRecord) -> Option<String> {
    let metric =
        case.metrics.iter().find(|metric| metric.name.starts_with("energy") && metric.unit == "J")?;
    let most = metric.processes.iter().flat_map(|samples| &samples.values).copied().max_by(f64::total_cmp)?;
    Some(number::value(most, "J"))
}

/// Resources that the program reported itself.
fn stated(case: &CaseRecord, name: &str) -> Option<String> {
    let bytes = case.metadata.get(name)?.as_f64()?;
    Some(format!("{} (stated)", number::value(bytes, "B")))
}

#[cfg(test)]
mod tests {
    use crate::record::{test_support as records, view::RunView};

    #[test]
    fn the_most_of_the_complete_processes_counts() {
        let mut record = records::quiet();
        let processes = &mut record.cases[0].processes;
        processes[1].peak_rss_bytes = Some(3 << 30);
        processes[2].device_peak_bytes = Some(5 << 20);
        processes[3].cpu_seconds = Some(0.25);
        processes[4].peak_rss_bytes = Some(9 << 30);
        processes[4].outcome =
            gbench_model::Outcome::Invalid { code: None, cause: "x".into(), advice: "y".into() };
        for process in &mut record.cases[1].processes {
            (process.peak_rss_bytes, process.cpu_seconds) = (None, None);
        }
        let view = RunView::new(&record);
        let [first] = &view.resources[..] else { panic!("one case of which something is known") };
        assert_eq!([&*first.resident, &*first.device, &*first.cpu], ["3.000 GiB", "5.000 MiB", "1.200 s"]);
        assert_eq!(view.unknown_resources, 1);
    }

    #[test]
    fn n21_what_the_record_holds_is_not_called_not_measured() {
        let mut record = records::quiet();
        for process in &mut record.cases[0].processes {
            process.outcome =
                gbench_model::Outcome::Invalid { code: None, cause: "x".into(), advice: "y".into() };
            (process.peak_rss_bytes, process.device_peak_bytes) = (Some(2 << 30), Some(7 << 20));
            process.cpu_seconds = Some(0.5);
        }
        for process in &mut record.cases[1].processes {
            process.peak_rss_bytes = None;
        }
        record.cases[1].metadata.insert("host_peak_bytes".into(), (64u64 << 20).into());
        let view = RunView::new(&record);
        let [broken, stated] = &view.resources[..] else { panic!("two cases") };
        assert_eq!(
            [&*broken.resident, &*broken.device, &*broken.cpu],
            ["2.000 GiB (not complete)", "7.000 MiB (not complete)", "500.0 ms (not complete)"]
        );
        assert_eq!([&*stated.resident, &*stated.device], ["64.00 MiB (stated)", "not measured"]);
    }
}
