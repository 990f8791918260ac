//! The records of a suite that was run in shards as one record.

use std::collections::{BTreeMap, HashMap};

use crate::identity::machines::differences;
use crate::verdict::document::Difference;
use gbench_model::{
    CaseId, Exit, Fault, HOST, RecordState, Result, RunId, RunRecord, SCHEMA_RECORD, Shard, Strictness,
};

/// Settings that may differ: each run draws its own order, and each machine has its own folders.
const OWN: [&str; 3] = ["coin_seed", "run.artifacts", "run.store"];

/// One record of several runs, each with the folder that it came from; and the shards that did not come, which a warning
/// of the record names.
///
/// Errors: no record, with exit code 4; with exit code 2, and both folders named: a case that two of them hold, another
/// suite, version or setting, machines that cannot be compared, a side of a comparison.
pub fn merge_records(parts: Vec<(String, RunRecord)>) -> Result<(RunRecord, Vec<Shard>)> {
    let Some(first) = parts.first() else {
        let next = "look at the jobs that should have brought a record, and start them again";
        return Err(Fault::at("merge", "nothing was merged", next).exits(Exit::Failed));
    };
    parts.iter().try_for_each(|part| of_one_suite(first, part))?;
    no_case_twice(&parts)?;
    let missing = missing_shards(&parts)?;
    let mut warnings: Vec<String> = Vec::new();
    warnings.extend(missing.iter().map(|shard| format!("shard {} of {} is missing", shard.index, shard.of)));
    for (name, record) in &parts {
        let mut noted = differences(&first.1, record, &BTreeMap::new());
        noted.retain(|difference| !difference.field.starts_with("host.load"));
        if !noted.is_empty() {
            let fields: Vec<&str> = noted.iter().map(|difference| &*difference.field).collect();
            warnings.push(format!("`{name}` ran on a machine that differs in {}", fields.join(", ")));
        }
        warnings.extend(record.warnings.iter().map(|warning| format!("`{name}`: {warning}")));
    }
    let ended: Option<Vec<String>> = parts.iter().map(|(_, record)| record.finished.clone()).collect();
    let earliest = parts.iter().map(|(_, record)| record).min_by_key(|record| &record.run_id);
    let earliest = earliest.unwrap_or(&first.1);
    let record = RunRecord {
        schema: SCHEMA_RECORD.into(),
        run_id: merged_id(&earliest.run_id),
        tool: earliest.tool.clone(),
        state: state(&parts, !missing.is_empty()),
        cut_short: parts.iter().find_map(|(_, record)| record.cut_short),
        exclusive: None,
        started: parts.iter().map(|(_, record)| record.started.clone()).min().unwrap_or_default(),
        finished: ended.and_then(|ended| ended.into_iter().max()),
        side: None,
        comparison: None,
        ingested: None,
        source: earliest.source.clone(),
        command: earliest.command.clone(),
        config: earliest.config.clone(),
        manifest: earliest.manifest.clone(),
        clocks: earliest.clocks.clone(),
        cases: Vec::new(),
        warnings,
    };
    let mut cases: Vec<_> = parts.into_iter().flat_map(|(_, record)| record.cases).collect();
    cases.sort_by(|a, b| a.id.cmp(&b.id));
    Ok((RunRecord { cases, ..record }, missing))
}

/// Sorts next to the runs that it is made of, and differs from each of them.
fn merged_id(of: &RunId) -> RunId {
    let text: String = of.as_str().chars().take(90).collect();
    format!("{text}-merged").parse().unwrap_or_else(|_| of.clone())
}

fn state(parts: &[(String, RunRecord)], missing: bool) -> RecordState {
    let any = |state| parts.iter().any(|(_, record)| record.state == state);
    if any(RecordState::Recovered) {
        RecordState::Recovered
    } else if missing || any(RecordState::Interrupted) {
        RecordState::Interrupted
    } else {
        RecordState::Complete
    }
}

fn of_one_suite(one: &(String, RunRecord), other: &(String, RunRecord)) -> Result<()> {
    let ((a, one), (b, other)) = (one, other);
    let refused = |what: String, next: &str| Err(Fault::at("merge", what, next));
    for (name, record) in [(a, one), (b, other)] {
        if record.comparison.is_some() || record.side.is_some() {
            let what = format!("`{name}` is one side of a comparison");
            return refused(what, "name the comparison's folder, the one that holds `base` and `head`");
        }
    }
    if (&one.source.suite, &one.source.sha256) != (&other.source.suite, &other.source.sha256) {
        let what = format!("`{a}` and `{b}` ran different suites, or different versions of one");
        return refused(what, "merge the shards of one run of one suite file");
    }
    if plan_of(&one.command) != plan_of(&other.command) {
        let what = format!("`{a}` and `{b}` were cut by different plans");
        return refused(what, "give every shard the same `--shard-plan`");
    }
    if one.tool != other.tool {
        let what = format!("`{a}` is of gbench-ci {}, `{b}` of {}", one.tool.version, other.tool.version);
        return refused(what, "run every shard with the same version");
    }
    let commit = |record: &RunRecord| record.manifest.git.known().and_then(|git| git.commit.clone());
    if commit(one) != commit(other) {
        let words = |record| commit(record).unwrap_or_else(|| "no known commit".into());
        let what = format!("`{a}` is of {}, `{b}` of {}", words(one), words(other));
        return refused(what, "run every shard at one commit");
    }
    let [of_one, of_other] = [one, other].map(settings);
    let mut names = of_one.keys().chain(of_other.keys());
    if let Some(name) = names.find(|name| of_one.get(*name) != of_other.get(*name)) {
        let words =
            |settings: &BTreeMap<&String, String>| settings.get(name).cloned().unwrap_or("not set".into());
        let what = format!("`{name}` is {} in `{a}` and {} in `{b}`", words(&of_one), words(&of_other));
        return refused(what, "run every shard with the same settings");
    }
    // Shards of a pool of equal machines get a warning; they are not refused.
    let pool = BTreeMap::from([(HOST.to_owned(), Strictness::Annotate)]);
    let mut differences = differences(one, other, &pool).into_iter();
    let Some(Difference { field, base, head, .. }) = differences.find(|it| it.strict) else { return Ok(()) };
    let what = format!("`{field}` is {base} in `{a}` and {head} in `{b}`: one record is of one machine");
    refused(what, "measure all shards on one machine")
}

fn settings(record: &RunRecord) -> BTreeMap<&String, String> {
    let of_suite = record.config.iter().filter(|(name, _)| !OWN.contains(&name.as_str()));
    let of_cases = record.cases.iter().flat_map(|case| &case.config);
    let typed = of_cases.filter(|(_, shown)| shown.origin.is_pinned());
    of_suite.chain(typed).map(|(name, shown)| (name, shown.value.to_string())).collect()
}

fn no_case_twice(parts: &[(String, RunRecord)]) -> Result<()> {
    let mut seen: HashMap<&CaseId, &str> = HashMap::new();
    for (name, record) in parts {
        for case in &record.cases {
            if let Some(other) = seen.insert(&case.id, name) {
                let what = format!("`{other}` and `{name}` both hold {}", case.id);
                return Err(Fault::at("merge", what, "give each job its own `--shard`"));
            }
        }
    }
    Ok(())
}

fn missing_shards(parts: &[(String, RunRecord)]) -> Result<Vec<Shard>> {
    let mut found: Option<(u32, &str)> = None;
    let mut present = Vec::new();
    for (name, record) in parts {
        let Some(shard) = shard_of(&record.command) else { continue };
        match found {
            Some((of, other)) if of != shard.of => {
                let what = format!("`{other}` is a shard of {of}, and `{name}` is a shard of {}", shard.of);
                return Err(Fault::at(
                    "merge",
                    what,
                    "cut the suite into the same number of shards in every job",
                ));
            }
            _ => found = Some((shard.of, name)),
        }
        present.push(shard.index);
    }
    let of = found.map_or(0, |(of, _)| of);
    let missing = (1..=of).filter(|index| !present.contains(index));
    Ok(missing.map(|index| Shard { index, of }).collect())
}

fn shard_of(command: &[String]) -> Option<Shard> {
    value_of(command, "--shard")?.parse().ok()
}

/// The plan that a run was cut by: its text, or the name of its file.
fn plan_of(command: &[String]) -> Option<&str> {
    value_of(command, "--shard-plan")
}

fn value_of<'c>(command: &'c [String], flag: &str) -> Option<&'c str> {
    let mut words = command.iter();
    let value = words.find_map(|word| match word.strip_prefix(flag) {
        Some("") => Some(None),
        Some(rest) => rest.strip_prefix('=').map(Some),
        None => None,
    })?;
    value.or_else(|| words.next().map(String::as_str))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_is_found_in_either_form_of_the_flag() {
        let of = |words: &str| shard_of(&words.split(' ').map(str::to_owned).collect::<Vec<_>>());
        let commands = ["run --shard 2/3 --quiet", "run --shard=1/3", "run --sharded 1/3", "run"];
        let found = [Some(Shard { index: 2, of: 3 }), Some(Shard { index: 1, of: 3 }), None, None];
        assert_eq!(commands.map(of), found);
    }
}
