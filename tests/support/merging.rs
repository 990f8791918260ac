//! What the jobs of a matrix leave: comparisons in rounds of parts of one suite, on made-up machines.

use std::path::{Path, PathBuf};

use gbench_ci::compare::{VerdictDocument, VerdictPart, verdict_of};
use gbench_ci::model::*;
use gbench_model::test_support::{devices, git};

use super::rounds::{Planned, differences, sides, timed};

pub const BASE: &str = "9f1c2e7ab04d5566778899aabbccddeeff001122";
pub const HEAD: &str = "02ab45cd66778899aabbccddeeff00112233aabb";

/// Nine kernels; `gemm` is 6 % slower where `slower`.
pub fn suite(slower: bool) -> Vec<Planned> {
    let names = ["attention", "conv", "gemm", "layernorm", "norm", "reduce", "scan", "softmax", "transpose"];
    let plan = |(index, name): (usize, &&str)| {
        let centre = if slower && *name == "gemm" { 0.06 } else { 0.0 };
        timed(&format!("kernels/{name}"), &differences(500 + index as u32, centre, 0.003, 40))
    };
    names.iter().enumerate().map(plan).collect()
}

/// Every `of`-th case of a suite, from the `index`-th, as `--shard` cuts it.
pub fn shard_of(plans: &[Planned], shard: Shard) -> Vec<Planned> {
    let mine = |index: &usize| index % shard.of as usize == shard.index as usize - 1;
    plans.iter().enumerate().filter(|(index, _)| mine(index)).map(|(_, plan)| plan.clone()).collect()
}

/// The verdict of some cases on a machine; `share`: by how much the promise is divided.
pub fn verdict(label: &str, plans: &[Planned], share: u32) -> VerdictDocument {
    judged(label, plans, share).0
}

/// [`verdict`] with the records of base and head.
pub fn judged(label: &str, plans: &[Planned], share: u32) -> (VerdictDocument, [RunRecord; 2]) {
    let (mut base, mut head) = sides(plans);
    for (record, commit) in [(&mut base, BASE), (&mut head, HEAD)] {
        let comparison = record.comparison.as_mut().unwrap();
        comparison.id = format!("20261121T11000{share}.000Z-{}", tail(label, plans)).parse().unwrap();
        comparison.base = "main (9f1c2e7ab0)".into();
        comparison.head = "this change (02ab45cd66)".into();
        // As the kept parts have it.
        comparison.rule.name = SequentialRuleName::SeqE;
        comparison.rule.alpha /= f64::from(share);
        comparison.rule.alpha_improved /= f64::from(share);
        git(&mut record.manifest).commit = Some(commit.into());
        if label == "a100" {
            devices(&mut record.manifest)[0].model = Probe::Known("NVIDIA A100-SXM4-80GB".into());
        }
    }
    let verdict = verdict_of(&base, &head, None).unwrap();
    (VerdictDocument { tool_version: "0.1.0".into(), ..verdict }, [base, head])
}

fn tail(label: &str, plans: &[Planned]) -> String {
    let number =
        label.bytes().map(u32::from).sum::<u32>() * 97 + plans[0].name.bytes().map(u32::from).sum::<u32>();
    format!("{:06x}", number & 0xff_ffff)
}

pub fn job(label: &str, shard: Option<Shard>, exit_code: u8) -> Job {
    Job {
        schema: SCHEMA_JOB.into(),
        event: "pull_request".into(),
        head: Some(HEAD.into()),
        pull_request: None,
        base: BaseChoice {
            commit: Some(BASE.into()),
            committed: Some("2026-11-18T08:00:00Z".into()),
            why: "the merge base of main and this branch, 3 days old".into(),
            by_hand: false,
        },
        label: label.into(),
        shard,
        cut: None,
        exit_code,
        fail_on: Vec::new(),
        flags: Vec::new(),
        sources: vec![SourceLine {
            benchmark: "kernels/gemm".into(),
            path: "bench/gemm.py".into(),
            line: 12,
        }],
        fork: false,
        untouched: None,
    }
}

/// One job of a matrix.
pub fn part(label: &str, shard: Option<Shard>, slower: bool) -> VerdictPart {
    let plans = shard.map_or_else(|| suite(slower), |shard| shard_of(&suite(slower), shard));
    let verdict = verdict(label, &plans, shard.map_or(1, |shard| shard.of));
    let name = match shard {
        Some(shard) => format!("{label}-{}", shard.index),
        None => label.to_owned(),
    };
    VerdictPart { name, job: Some(job(label, shard, verdict.exit_code)), verdict }
}

/// Three shards of one machine.
pub fn three_shards(label: &str, slower: bool) -> Vec<VerdictPart> {
    (1..=3).map(|index| part(label, Some(Shard { index, of: 3 }), slower)).collect()
}

/// The folder of a part, as it is uploaded: `job.json` and `reports/verdict.json`.
pub fn write(part: &VerdictPart, above: &Path) -> PathBuf {
    let folder = above.join(&part.name);
    std::fs::create_dir_all(folder.join("reports")).unwrap();
    let text = |value: serde_json::Result<String>| value.unwrap() + "\n";
    if let Some(job) = &part.job {
        std::fs::write(folder.join("job.json"), text(serde_json::to_string_pretty(job))).unwrap();
    }
    std::fs::write(folder.join("reports/verdict.json"), text(serde_json::to_string_pretty(&part.verdict)))
        .unwrap();
    folder
}
