//! Which case of one record belongs to which of the other: by the whole identity, and by nothing less.

use std::collections::{BTreeMap, HashMap, HashSet};

use gbench_model::{CaseId, CaseRecord, Fault, Result, Thermal, Timing};

use crate::rules::rule::Rule;
use crate::verdict::policy::SideInput;

#[derive(Clone, Copy, Debug)]
pub(crate) struct PairedCase<'a> {
    pub id: &'a CaseId,
    pub base: Option<&'a CaseRecord>,
    pub head: Option<&'a CaseRecord>,
}

/// Pairs two records, for a rule. Errors: a case, or a metric of a case, that is in one record twice.
pub(crate) fn pair<'a>(
    base: &'a SideInput,
    head: &'a SideInput,
    rule: &dyn Rule,
) -> Result<Vec<PairedCase<'a>>> {
    let mut of_head = index(head)?;
    index(base)?;

    let mut pairs = Vec::with_capacity(base.record.cases.len());
    let mut left_over = Vec::new();
    for case in &base.record.cases {
        match of_head.remove(&case.id) {
            Some(other) => pairs.push(PairedCase { id: &case.id, base: Some(case), head: Some(other) }),
            None => left_over.push(case),
        }
    }
    let mut unmatched: Vec<&CaseRecord> =
        head.record.cases.iter().filter(|case| of_head.contains_key(&case.id)).collect();
    pair_alike(&mut left_over, &mut unmatched, &mut pairs, without_device, |base, head| match () {
        () if device_unknown(base) => Some(&head.id),
        () if device_unknown(head) => Some(&base.id),
        () => None,
    });
    if !rule.precedes_seq_e_5() {
        pair_alike(&mut left_over, &mut unmatched, &mut pairs, without_amount, |base, head| {
            // Two that both say how often they measure may mean their own parameters.
            let mut plain = [base, head].into_iter().filter(|case| without_amount(&case.id) == case.id);
            plain.next().map(|case| &case.id)
        });
    }
    pairs.extend(left_over.into_iter().map(|case| PairedCase { id: &case.id, base: Some(case), head: None }));
    pairs.extend(unmatched.into_iter().map(|case| PairedCase { id: &case.id, base: None, head: Some(case) }));
    Ok(pairs)
}

fn index<'a>(side: &'a SideInput) -> Result<HashMap<&'a CaseId, &'a CaseRecord>> {
    if let Some(twice) = side.record.repeated() {
        let what = format!("{twice} is in this record twice");
        return Err(Fault::at(&side.name, what, "remove one of the two, or measure again"));
    }
    Ok(side.record.cases.iter().map(|case| (&case.id, case)).collect())
}

/// Pairs the cases that are left over and agree in all but what one of them does not know, or says more of. `rest`: what has to
/// agree; `named`: the identity of the pair, or `None` if they are two. Where several would fit, none is taken.
fn pair_alike<'a>(
    base: &mut Vec<&'a CaseRecord>,
    head: &mut Vec<&'a CaseRecord>,
    pairs: &mut Vec<PairedCase<'a>>,
    rest: fn(&CaseId) -> CaseId,
    named: impl Fn(&'a CaseRecord, &'a CaseRecord) -> Option<&'a CaseId>,
) {
    let mut groups: BTreeMap<CaseId, (Vec<&CaseRecord>, Vec<&CaseRecord>)> = BTreeMap::new();
    for case in base.iter() {
        groups.entry(rest(&case.id)).or_default().0.push(case);
    }
    for case in head.iter() {
        groups.entry(rest(&case.id)).or_default().1.push(case);
    }
    let mut taken = HashSet::new();
    for (base, head) in groups.into_values() {
        let ([base], [head]) = (base.as_slice(), head.as_slice()) else { continue };
        if let Some(id) = named(base, head) {
            pairs.push(PairedCase { id, base: Some(base), head: Some(head) });
            taken.extend([std::ptr::from_ref(*base), std::ptr::from_ref(*head)]);
        }
    }
    base.retain(|case| !taken.contains(&std::ptr::from_ref(*case)));
    head.retain(|case| !taken.contains(&std::ptr::from_ref(*case)));
}

/// A case that failed before it named its device is recorded as `host`. It belongs to the one case of the other side that
/// agrees in all the rest: else every crash would read as one case gone and another one come.
fn device_unknown(case: &CaseRecord) -> bool {
    case.id.device == "host" && !case.outcome.is_measured()
}

fn without_device(id: &CaseId) -> CaseId {
    CaseId { device: String::new(), ..id.clone() }
}

/// Records of earlier versions have how often Google Benchmark measured a case among its parameters.
fn without_amount(id: &CaseId) -> CaseId {
    const AMOUNT: [&str; 4] = ["iterations", "min_time", "min_warmup_time", "repeats"];
    let mut id = id.clone();
    id.params.retain(|name, _| id.timing != Timing::Harness || !AMOUNT.contains(&name.as_str()));
    id
}

/// How a case of the other side that shares benchmark, variant and parameters differs nevertheless.
#[derive(Default, PartialEq)]
pub(crate) struct NearMatch {
    /// The case's own device, and the other's; absent where they are the same.
    pub device: Option<String>,
    pub other_device: Option<String>,
    pub other_thermal: Option<Thermal>,
    pub other_timing: bool,
}

/// A reader who finds a case missing wants to know that one like it ran cold, or on the CPU.
pub(crate) fn near_match(id: &CaseId, others: &HashMap<CaseId, &CaseId>) -> Option<NearMatch> {
    let other = others.get(&loose(id))?;
    let moved = other.device != id.device;
    let found = NearMatch {
        device: moved.then(|| id.device.clone()),
        other_device: moved.then(|| other.device.clone()),
        other_thermal: Some(other.thermal).filter(|thermal| *thermal != id.thermal),
        other_timing: other.timing != id.timing,
    };
    (found != NearMatch::default()).then_some(found)
}

/// The identities of one side's unpaired cases by what [`near_match`] asks for.
pub(crate) fn loosely<'a>(ids: impl Iterator<Item = &'a CaseId>) -> HashMap<CaseId, &'a CaseId> {
    ids.map(|id| (loose(id), id)).collect()
}

fn loose(id: &CaseId) -> CaseId {
    CaseId { thermal: Thermal::Warm, timing: Timing::Protocol, ..without_device(id) }
}
