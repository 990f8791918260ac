//! Where a series breaks: two runs next to each other whose figures may not be set side by side. What lies on both sides of a break is
//! never a change of the code.

use std::collections::{BTreeMap, HashMap};

use super::encoding::Dictionary;
use super::table::{TrendSeries, TrendTable};
use crate::compare::strictness;
use crate::model::Strictness;

/// A fact that differs between two runs: `driver`, `power_limit`, `settings`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenField {
    pub field: String,
    pub before: String,
    pub after: String,
}

/// A break before a point of a series.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeriesBreak {
    /// Index of the first point after it.
    pub at: usize,
    pub fields: Vec<BrokenField>,
}

/// The name of the field for what the suite asked for.
const SETTINGS: &str = "settings";

/// Finds breaks. Pairs of machines are looked at once.
pub(super) struct BreakFinder<'t> {
    table: &'t TrendTable,
    dictionary: &'t Dictionary,
    match_key: &'t BTreeMap<String, Strictness>,
    known: HashMap<(u32, u32), Vec<BrokenField>>,
}

impl<'t> BreakFinder<'t> {
    /// `match_key`: the suite's `[gate.match]`.
    pub(super) fn new(
        table: &'t TrendTable,
        dictionary: &'t Dictionary,
        match_key: &'t BTreeMap<String, Strictness>,
    ) -> Self {
        Self { table, dictionary, match_key, known: HashMap::new() }
    }

    /// Every break of a series, in order.
    pub(super) fn of(&mut self, series: &TrendSeries) -> Vec<SeriesBreak> {
        let pairs = series.points.windows(2).enumerate();
        let found = pairs.filter_map(|(at, pair)| {
            let (before, after) = (pair[0].run, pair[1].run);
            let mut fields = self.machines(self.table.machine(before), self.table.machine(after)).to_vec();
            let settings = [before, after].map(|run| series.settings(run));
            if settings[0] != settings[1] {
                let [before, after] = settings.map(|number| self.dictionary.text(number).to_owned());
                fields.push(BrokenField { field: SETTINGS.into(), before, after });
            }
            (!fields.is_empty()).then_some(SeriesBreak { at: at + 1, fields })
        });
        found.collect()
    }

    /// The facts in which two machines differ so that their figures may not be compared. A fact that one of them does not tell is no
    /// difference: a night on which one query failed breaks no series.
    fn machines(&mut self, before: u32, after: u32) -> &[BrokenField] {
        if before == after {
            return &[];
        }
        let (table, dictionary, match_key) = (self.table, self.dictionary, self.match_key);
        self.known.entry((before, after)).or_insert_with(|| {
            let after: HashMap<u32, u32> = table.facts(after).iter().copied().collect();
            let differing = table.facts(before).iter().filter_map(|(name, before)| {
                let after = *after.get(name)?;
                let field = dictionary.text(*name);
                let is_break = *before != after && strictness(field, match_key) == Strictness::Strict;
                is_break.then(|| BrokenField {
                    field: field.to_owned(),
                    before: dictionary.text(*before).to_owned(),
                    after: dictionary.text(after).to_owned(),
                })
            });
            differing.collect()
        })
    }
}
