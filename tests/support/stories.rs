//! Three comparisons in rounds that a new user may meet: one red, one that stays open, one clean. Made up: the differences
//! are drawn from a seed.

use gbench_ci::compare::{Policy, SeqE, SideInput};
use gbench_ci::compare::{VerdictDocument, case_progress, verdict_of};
use gbench_ci::model::*;
use gbench_model::test_support::git;

use super::records::noise;
use super::rounds::{Planned, differences, sides, timed};

/// The records of a comparison.
pub struct Story {
    pub base: RunRecord,
    pub head: RunRecord,
    pub control: Option<RunRecord>,
}

impl Story {
    pub fn verdict(&self) -> VerdictDocument {
        verdict_of(&self.base, &self.head, self.control.as_ref()).unwrap()
    }

    /// `base/`, `head/` and `control/` below a comparison's folder, as a run leaves them; the verdict in `reports/`.
    pub fn write(&self, artifacts: &std::path::Path) -> std::path::PathBuf {
        let folder = artifacts.join(self.base.comparison.as_ref().unwrap().id.as_str());
        let sides =
            [("base", Some(&self.base)), ("head", Some(&self.head)), ("control", self.control.as_ref())];
        for (name, record) in sides {
            let Some(record) = record else { continue };
            let results = folder.join(name).join("results");
            std::fs::create_dir_all(&results).unwrap();
            std::fs::write(results.join("record.json"), serde_json::to_vec(record).unwrap()).unwrap();
        }
        std::fs::create_dir_all(folder.join("reports")).unwrap();
        let mut verdict = serde_json::to_vec_pretty(&self.verdict()).unwrap();
        verdict.push(b'\n');
        std::fs::write(folder.join("reports/verdict.json"), verdict).unwrap();
        folder
    }
}

/// Eight quiet kernels.
fn company() -> Vec<Planned> {
    let names = ["attention", "conv", "gemm", "layernorm", "reduce", "scan", "softmax", "transpose"];
    let quiet = |(index, name): (usize, &&str)| Planned {
        usual: 2e-4 * (index + 1) as f64,
        ..timed(&format!("kernels/{name}"), &differences(100 + index as u32, 0.0, 0.003, 40))
    };
    names.iter().enumerate().map(quiet).collect()
}

/// One kernel 3 % slower, a bandwidth 4 % lower, and one kernel faster.
pub fn red() -> Story {
    red_by(SequentialRuleName::SeqE2)
}

/// [`red`] as the rule named measures and judges it.
pub fn red_by(rule: SequentialRuleName) -> Story {
    let mut plans = company();
    plans[2].differences = differences(1, 0.031, 0.005, 40);
    plans[6].differences = differences(2, -0.052, 0.006, 40);
    plans.push(Planned {
        metric: "bandwidth".into(),
        unit: "GB/s".into(),
        usual: 2900.0,
        ..timed("memory/copy", &differences(3, -0.041, 0.006, 40))
    });
    story_by(plans, rule)
}

/// One kernel 3 % slower.
pub fn one() -> Story {
    let mut plans = company();
    plans[2].differences = differences(1, 0.031, 0.005, 40);
    story(plans)
}

/// One kernel too noisy to decide, one cut short.
pub fn open() -> Story {
    let mut plans = company();
    plans[5].differences = differences(3, 0.012, 0.06, 40);
    plans[0].differences = differences(9, 0.021, 0.012, 9);
    story(plans)
}

/// Nothing changed, and a control says so of the machine.
pub fn clean() -> Story {
    let mut plans = company();
    plans[1].differences = differences(30, 0.004, 0.009, 40);
    let mut story = story(plans);
    let mut control = story.base.clone();
    control.side = Some(Side::Control);
    control.run_id = "20261121T100300.000Z-000003".parse().unwrap();
    control.cases.truncate(3);
    for (index, case) in control.cases.iter_mut().enumerate() {
        for (round, samples) in case.metrics[0].processes.iter_mut().enumerate() {
            let drawn = 0.003 * noise([index as u32, round as u32, 13, 13]);
            samples.values.iter_mut().for_each(|value| *value *= drawn.exp());
        }
    }
    story.control = Some(control);
    story
}

/// A server at eight loads, faster at all of them but one, whose latency is 10 % higher.
pub fn serving() -> Story {
    let mut plans = Vec::new();
    for (index, load) in (0_u32..).zip(SERVED) {
        let saturated = 1.0 + f64::from(load) / 40.0;
        let slower = if load == 32 { 0.0953 } else { -0.031 };
        let rate = Planned {
            metric: "output_throughput".into(),
            unit: "tokens/s".into(),
            usual: 200.0 * f64::from(load) / saturated,
            ..timed("serving/chat", &differences(200 + index, 0.022, 0.005, 40))
        };
        let latency = Planned {
            metric: "e2el".into(),
            usual: 0.6 * saturated,
            ..timed("serving/chat", &differences(300 + index, slower, 0.005, 40))
        };
        plans.extend([rate, latency]);
    }
    let (mut base, mut head) = sides(&plans);
    join_points(&mut base);
    join_points(&mut head);
    measured(base, head, SequentialRuleName::SeqE5)
}

/// The loads of [`serving`].
pub const SERVED: [u32; 8] = [1, 2, 4, 8, 16, 32, 64, 128];

/// Two planned cases, a throughput and a latency, become one point of a curve.
pub fn join_points(record: &mut RunRecord) {
    let mut cases = std::mem::take(&mut record.cases).into_iter();
    for load in SERVED {
        let (Some(mut point), Some(latency)) = (cases.next(), cases.next()) else { return };
        point.id.params.insert("concurrency".into(), ParamValue::Int(i64::from(load)));
        point.id.params.insert("model".into(), ParamValue::Text("tiny-7b".into()));
        point.metrics.splice(0..0, latency.metrics);
        point.load = Some(LoadParameters { parameters: vec!["concurrency".into()], ..Default::default() });
        record.cases.push(point);
    }
}

/// The records of the planned cases.
fn story(plans: Vec<Planned>) -> Story {
    story_by(plans, SequentialRuleName::SeqE2)
}

fn story_by(plans: Vec<Planned>, rule: SequentialRuleName) -> Story {
    let (base, head) = sides(&plans);
    measured(base, head, rule)
}

/// The records with the rounds that each case needed.
fn measured(mut base: RunRecord, mut head: RunRecord, rule: SequentialRuleName) -> Story {
    for (record, commit) in [(&mut base, "9f1c2e7ab04d5566"), (&mut head, "02ab45cd66778899")] {
        let comparison = record.comparison.as_mut().unwrap();
        comparison.base = "main (9f1c2e7ab0)".into();
        comparison.head = "faster-softmax (02ab45cd66)".into();
        comparison.seed = 1234;
        comparison.rule.name = rule;
        let git = git(&mut record.manifest);
        git.commit = Some(commit.into());
        git.branch = None;
    }
    let comparison = base.comparison.clone().unwrap();
    let side = |record| SideInput { record, name: String::new() };
    let standings =
        case_progress(&SeqE::of(&comparison), &side(&base), &side(&head), &Policy::of(&comparison)).unwrap();
    for case in base.cases.iter_mut().chain(&mut head.cases) {
        let rounds = standings.iter().find(|standing| standing.case == case.id).unwrap().rounds as usize;
        case.processes.truncate(rounds);
        case.metrics.iter_mut().for_each(|metric| metric.processes.truncate(rounds));
    }
    Story { base, head, control: None }
}
