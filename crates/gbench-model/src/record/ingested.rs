//! Records that were read from files of other programs, not measured by gbench-ci.

use std::collections::{BTreeMap, BTreeSet};

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::facts::{HOST, names_card};

/// Where the figures of a record come from that no process of this gate gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Ingested {
    /// The format that the files were read as: `nccl-tests`.
    pub format: String,
    /// One for every process of the record, in order.
    pub files: Vec<IngestedFile>,
    /// Facts about the machine, the software and the workload in the files, and how often they measured; values that differ from
    /// file to file are joined by ` | `.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, String>,
}

impl Ingested {
    /// Sentences by kind about the parts of its files that were not read.
    pub fn unread(&self) -> BTreeMap<UnreadKind, Vec<String>> {
        let mut sentences: BTreeMap<UnreadKind, Vec<String>> = BTreeMap::new();
        for (file, parts) in self.files.iter().flat_map(|file| file.unread.0.iter().map(move |it| (file, it)))
        {
            let sentence = format!("{}: {}", file.path, parts.sentence());
            sentences.entry(parts.kind).or_default().push(sentence);
        }
        sentences
    }

    /// Its cards, its processor and its host, as the files name them; `None` if they name none.
    pub fn machine(&self) -> Option<String> {
        let cards = self.facts.iter().filter(|(name, _)| names_card(name));
        let host = ["cpu_model", HOST].into_iter().filter_map(|name| self.facts.get_key_value(name));
        let parts: Vec<&str> = cards.chain(host).map(|(_, text)| text.as_str()).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

/// One file.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct IngestedFile {
    /// As it was given.
    pub path: String,
    /// SHA-256 of the file, hexadecimal.
    pub sha256: String,
    /// The measured commit according to the file.
    pub commit: Option<String>,
    /// Parts that were not read, though they may be measurements.
    #[serde(default, skip_serializing_if = "Unread::is_empty")]
    pub unread: Unread,
}

/// Parts of a file that its reader passed over, though they may be measurements: one entry of each kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(transparent)]
pub struct Unread(pub Vec<UnreadParts>);

/// All parts of one kind.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct UnreadParts {
    pub kind: UnreadKind,
    /// How many there are.
    pub count: u64,
    /// The first ones, at most three: the text of a line or row, the name of a field. All figures without a unit.
    pub examples: Vec<String>,
    /// The line of the first one, from 1.
    pub line: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum UnreadKind {
    /// A line that looks like a result.
    Line,
    /// A field with a number.
    Field,
    /// A row, or an entry of a list.
    Row,
    /// A line before, between or behind the JSON documents.
    Around,
    /// The mark of the end, which this file lacks: it may be cut off.
    End,
    /// A figure whose unit the file does not state.
    Unit,
    /// A sample of OpenMetrics that is not a figure of a benchmark, such as that of a counter or a histogram.
    Sample,
}

impl UnreadKind {
    /// The next step for the user.
    pub fn advice(self) -> &'static str {
        match self {
            Self::Line => "look into these lines: another program's output may have interrupted them",
            Self::Field | Self::Row => "if they are measurements, describe them with `--metric`",
            Self::Around => "check whether the tool reports an error there",
            Self::Unit => "give it with `--unit NAME=UNIT`, such as `--unit ttft=s`",
            Self::Sample => {
                "nothing, unless one is a measurement: only gauges and medians are read, so export it as a gauge"
            }
            Self::End => "give the whole output, or make sure that the file has every benchmark",
        }
    }
}

/// Examples of a kind.
const MAX_EXAMPLES: usize = 3;
/// Characters of an example.
const MAX_EXAMPLE: usize = 80;

impl Unread {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a line or row with its number in the file, from 1.
    pub fn line(&mut self, kind: UnreadKind, line: usize, text: &str) {
        self.add(UnreadParts { kind, count: 1, examples: vec![short(text)], line: u64::try_from(line).ok() });
    }

    /// Adds a part that has a name.
    pub fn named(&mut self, kind: UnreadKind, name: &str) {
        self.add(UnreadParts { kind, count: 1, examples: vec![short(name)], line: None });
    }

    /// Adds fields; one of several rows is one field.
    pub fn fields(&mut self, names: impl IntoIterator<Item = String>) {
        let names: BTreeSet<String> = names.into_iter().collect();
        names.iter().for_each(|name| self.named(UnreadKind::Field, name));
    }

    /// Takes the figures out whose units the user gives.
    pub fn give_units<T>(&mut self, units: &BTreeMap<String, T>) {
        for parts in self.0.iter_mut().filter(|parts| parts.kind == UnreadKind::Unit) {
            parts.examples.retain(|name| given_unit(units, name).is_none());
            parts.count = parts.examples.len() as u64;
        }
        self.0.retain(|parts| parts.count > 0);
    }

    /// Adds everything of another list.
    pub fn extend(&mut self, others: Self) {
        others.0.into_iter().for_each(|parts| self.add(parts));
    }

    fn add(&mut self, parts: UnreadParts) {
        let Some(known) = self.0.iter_mut().find(|known| known.kind == parts.kind) else {
            return self.0.push(parts);
        };
        known.count = known.count.saturating_add(parts.count);
        let new = parts.examples.into_iter().filter(|it| !known.examples.contains(it)).collect::<Vec<_>>();
        // Each figure without a unit needs one from the user.
        let most = if known.kind == UnreadKind::Unit { usize::MAX } else { MAX_EXAMPLES };
        let free = most.saturating_sub(known.examples.len());
        known.examples.extend(new.into_iter().take(free));
    }
}

/// The unit that the user gives for a metric, which is that of its percentiles, too: `ttft` and `ttft_p99`.
pub fn given_unit<'u, T>(units: &'u BTreeMap<String, T>, name: &str) -> Option<&'u T> {
    let is_number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    let whole = name.rsplit_once("_p").filter(|(_, percentile)| is_number(percentile));
    units.get(name).or_else(|| units.get(whole?.0))
}

fn short(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(MAX_EXAMPLE) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

impl UnreadParts {
    /// A sentence about these parts of a file, without the file's name.
    pub fn sentence(&self) -> String {
        let Self { kind, count, examples, line } = self;
        let (one, several) = match kind {
            UnreadKind::Line => ("line that looks like a result", "lines that look like results"),
            UnreadKind::Field => ("field with a number", "fields with numbers"),
            UnreadKind::Row => ("row", "rows"),
            UnreadKind::Around => ("line around its JSON", "lines around its JSON"),
            UnreadKind::Sample => (
                "sample of a counter, a histogram, a summary or a moment",
                "samples of counters, histograms, summaries or moments",
            ),
            UnreadKind::Unit | UnreadKind::End => ("", ""),
        };
        let named: Vec<String> = examples.iter().map(|example| format!("`{example}`")).collect();
        if *kind == UnreadKind::End {
            let marks = named.join(" or ");
            return format!("it has no {marks} at its end: if it is cut off, benchmarks are missing");
        }
        if *kind == UnreadKind::Unit {
            return format!("it does not state the unit of {}", named.join(", "));
        }
        let (what, was) = if *count == 1 { (one, "was") } else { (several, "were") };
        let named = match (line, named.first()) {
            (Some(line), Some(first)) if *count == 1 => format!("line {line}, {first}"),
            (Some(line), Some(first)) => format!("the first is line {line}, {first}"),
            _ => named.join(", ") + if named.len() as u64 == *count { "" } else { ", ..." },
        };
        format!("{count} {what} {was} not read: {named}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_read_is_one_sentence_of_each_kind() {
        let mut unread = Unread::default();
        unread.line(UnreadKind::Line, 7, "BenchmarkX-8 \t log");
        assert_eq!(
            unread.0[0].sentence(),
            "1 line that looks like a result was not read: line 7, `BenchmarkX-8 log`"
        );
        unread.fields(["a", "b", "a", "c", "d"].map(str::to_owned));
        assert_eq!(unread.0[1].sentence(), "4 fields with numbers were not read: `a`, `b`, `c`, ...");
        let mut more = Unread::default();
        more.line(UnreadKind::Line, 9, &"x".repeat(100));
        more.named(UnreadKind::End, "PASS");
        unread.extend(more);
        assert_eq!((unread.0[0].count, unread.0[0].line, unread.0[0].examples.len()), (2, Some(7), 2));
        assert_eq!(unread.0[0].examples[1].chars().count(), 83);
        ["ttft", "tpot", "itl", "e2el"].iter().for_each(|name| unread.named(UnreadKind::Unit, name));
        assert_eq!(unread.0[3].sentence(), "it does not state the unit of `ttft`, `tpot`, `itl`, `e2el`");
        unread.give_units(&["ttft", "tpot", "e2el"].map(|name| (name.to_owned(), "s")).into());
        assert_eq!(unread.0[3].examples, ["itl"]);
        let units = BTreeMap::from([("ttft".to_owned(), "s"), ("ttft_p99".to_owned(), "ms")]);
        assert_eq!(
            ["ttft", "ttft_p50", "ttft_p99", "itl_p50", "ttft_peak"]
                .map(|name| given_unit(&units, name).copied()),
            [Some("s"), Some("s"), Some("ms"), None, None]
        );
        assert_eq!(
            unread.0[2].sentence(),
            "it has no `PASS` at its end: if it is cut off, benchmarks are missing"
        );
    }
}
