//! What the processes of a case took of the machine beside their time.

use crate::model::{CaseRecord, ProcessRecord};
use crate::report::number;

/// The most that one complete process of a case took, as text; `not measured` where none was told.
#[derive(Clone, Debug, PartialEq)]
pub struct Resources {
    pub name: String,
    /// Largest resident set of the process or of one of its descendants.
    pub resident: String,
    /// Peak of the device's memory, as the program stated it.
    pub device: String,
    /// User and system time with all descendants.
    pub cpu: String,
}

/// One entry a case that was started, in the record's order.
pub fn of(cases: &[(&CaseRecord, String)]) -> Vec<Resources> {
    let started = cases.iter().filter(|(case, _)| !case.processes.is_empty());
    started
        .map(|(case, name)| Resources {
            name: name.clone(),
            resident: most(case, "B", |process| process.peak_rss_bytes.map(|bytes| bytes as f64)),
            device: most(case, "B", |process| process.device_peak_bytes.map(|bytes| bytes as f64)),
            cpu: most(case, "s", |process| process.cpu_seconds),
        })
        .collect()
}

fn most(case: &CaseRecord, unit: &str, part: impl Fn(&ProcessRecord) -> Option<f64>) -> String {
    let complete = case.processes.iter().filter(|process| process.outcome.is_measured());
    let most = complete.filter_map(part).max_by(f64::total_cmp);
    most.map_or("not measured".into(), |most| number::value(most, unit))
}

#[cfg(test)]
mod tests {
    use crate::report::record::{Digest, test_support as records};

    #[test]
    fn the_most_of_the_complete_processes_counts() {
        let mut record = records::quiet();
        let processes = &mut record.cases[0].processes;
        processes[1].peak_rss_bytes = Some(3 << 30);
        processes[2].device_peak_bytes = Some(5 << 20);
        processes[3].cpu_seconds = Some(0.25);
        processes[4].peak_rss_bytes = Some(9 << 30);
        processes[4].outcome = crate::model::Outcome::Invalid { cause: "x".into(), advice: "y".into() };
        for process in &mut record.cases[1].processes {
            (process.peak_rss_bytes, process.cpu_seconds) = (None, None);
        }
        let digest = Digest::new(&record);
        let [first, second] = &digest.resources[..] else { panic!("two cases") };
        assert_eq!([&*first.resident, &*first.device, &*first.cpu], ["3.000 GiB", "5.000 MiB", "1.200 s"]);
        assert_eq!([&*second.resident, &*second.device, &*second.cpu], ["not measured"; 3]);
    }
}
