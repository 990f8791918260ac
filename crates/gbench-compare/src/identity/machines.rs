//! Checks that two machines may be compared. A number of one GPU means nothing for another.

use std::collections::BTreeMap;

use gbench_model::{Fact, HOST, MATCH_FIELDS, RunRecord, Strictness, names_card};

use crate::verdict::document::Difference;

/// How the names of facts begin that a file of another program tells.
const OF_FILES: &str = "file.";
/// [`HOST`] of a file.
pub(crate) const HOST_OF_FILE: &str = "file.host";

/// Every fact in which the two records differ and that is not ignored; strict ones first, then by name.
///
/// Unknown on one side is a difference, since nothing shows that the fact agrees; unknown on both is not one, since no
/// machine could ever be compared with itself otherwise.
pub(crate) fn differences(
    base: &RunRecord,
    head: &RunRecord,
    match_key: &BTreeMap<String, Strictness>,
) -> Vec<Difference> {
    let (base, head) = (machine_facts(base), machine_facts(head));
    let mut found = Vec::new();
    for field in base.keys().chain(head.keys().filter(|field| !base.contains_key(*field))) {
        let strictness = strictness(field, match_key);
        let facts = [base.get(field), head.get(field)];
        let texts = facts.map(|fact| fact.map_or("not recorded", |fact| fact.text.as_str()));
        let none_is_known = facts.iter().flatten().all(|fact| !fact.is_known);
        let same = texts[0] == texts[1] || none_is_known;
        // A file need not name what another one does, and older records do not name their host.
        let is_silent = (field.starts_with(OF_FILES) || field == HOST)
            && facts.iter().any(|fact| fact.is_none_or(|fact| !fact.is_known));
        let strictness = if is_silent { strictness.min_annotate() } else { strictness };
        if !same && strictness != Strictness::Ignore {
            found.push(Difference {
                field: field.clone(),
                base: texts[0].to_owned(),
                head: texts[1].to_owned(),
                strict: strictness == Strictness::Strict,
            });
        }
    }
    found.sort_by(|a, b| b.strict.cmp(&a.strict).then_with(|| a.field.cmp(&b.field)));
    found
}

/// Which machine of its model a record was measured on, if it is known.
pub(crate) fn host_of(record: &RunRecord) -> Option<String> {
    let facts = machine_facts(record);
    let known = |name: &str| facts.get(name).filter(|fact| fact.is_known).map(|fact| fact.text.clone());
    known(HOST).or_else(|| known(HOST_OF_FILE))
}

/// True if two records name different machines: a suite that does not refuse them declares a pool.
pub(crate) fn on_two_hosts(base: &RunRecord, head: &RunRecord) -> bool {
    host_of(base).zip(host_of(head)).is_some_and(|(base, head)| base != head)
}

/// The machine's facts, and the version of the tool that measured.
pub fn machine_facts(record: &RunRecord) -> BTreeMap<String, Fact> {
    let mut facts = record.manifest.facts();
    let version = Fact { text: record.tool.version.clone(), is_known: true };
    facts.insert("tools.gbench-ci".into(), version);
    let of_files = record.ingested.iter().flat_map(|ingested| &ingested.facts);
    facts.extend(
        of_files
            .map(|(name, text)| (format!("{OF_FILES}{name}"), Fact { text: text.clone(), is_known: true })),
    );
    facts
}

/// The strictness of a field: by its own name, else by its group's, else the default. A fact of a file is also known by its
/// name alone: `file.cpu_model` is as strict as `cpu_model`.
pub fn strictness(field: &str, match_key: &BTreeMap<String, Strictness>) -> Strictness {
    let group = field.split('.').next().unwrap_or(field);
    let of_file = field.strip_prefix(OF_FILES);
    let name = of_file.unwrap_or(field);
    let known = || MATCH_FIELDS.iter().find(|(known, _)| *known == name).map(|(_, strictness)| *strictness);
    let default = || known().or(of_file.is_some_and(names_card).then_some(Strictness::Strict));
    match_key
        .get(field)
        .or_else(|| match_key.get(name))
        .or_else(|| match_key.get(group))
        .copied()
        .or_else(default)
        .unwrap_or(Strictness::Annotate)
}
