//! Limits names and prose to a number of bytes. A verdict may be hostile: no text of it exceeds its share.

use std::collections::{BTreeSet, HashMap};

use crate::layout::escape::{markdown, markdown_code, markdown_code_folding, visible};
use crate::layout::grouped::together;
use crate::layout::markdown::stacked;
use crate::layout::width::{cut_middle, width};
use crate::verdict::view::RowView;
use gbench_model::sha256_hex;

/// Prose for Markdown in at most `bytes` bytes (at least 32); the end is cut.
pub(crate) fn prose(text: &str, bytes: usize) -> String {
    within(text, bytes, |text| {
        if text.contains('`') {
            // Text with code is meant to be copied, so it stays exact.
            markdown(text)
        } else {
            // Keeps a percent sign with its figure.
            markdown(text).replace(" %", "\u{a0}%")
        }
    })
}

/// The width of names in a table: the number of characters, and whether a long name is split into lines, which is more
/// readable but needs more bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Width {
    pub columns: usize,
    pub folding: bool,
}

impl Width {
    pub(crate) fn names<'l, 'r: 'l>(self, lines: impl Iterator<Item = &'l RowView<'r>>) -> ShortNames {
        ShortNames::new(lines.map(|line| line.name.as_str()), self.columns)
    }

    /// The first cell of a row: the case above its metric. `names`: those of the table.
    pub(crate) fn case(self, line: &RowView, names: &ShortNames) -> String {
        let name = if self.folding { names.name_in_cell(&line.name) } else { names.name(&line.name) };
        stacked(&name, &prose(&line.row.metric, 120))
    }
}

/// Names of limited length: their middles are cut, and different names stay different.
pub(crate) struct ShortNames {
    columns: usize,
    /// Names that would equal another one if only their middle were cut.
    told_apart: HashMap<String, String>,
}

impl ShortNames {
    pub(crate) fn new<'n>(names: impl Iterator<Item = &'n str>, columns: usize) -> Self {
        let long: BTreeSet<&str> = names.filter(|name| width(&visible(name)) > columns).collect();
        let mut told_apart = HashMap::new();
        for (_, alike) in together(long.iter().map(|name| (cut(name, columns), *name))) {
            if alike.len() > 1 {
                told_apart.extend(tell_apart(&alike, columns));
            }
        }
        let mut short = Self { columns, told_apart };
        let shown = || long.iter().map(|name| short.short(name)).collect::<BTreeSet<String>>();
        // A form that distinguishes some names may make them equal to others.
        if !short.told_apart.is_empty() && shown().len() < long.len() {
            let names: Vec<&str> = short.told_apart.keys().map(String::as_str).collect();
            short.told_apart = digested(&names, columns);
        }
        short
    }

    pub(crate) fn one(name: &str, columns: usize) -> String {
        Self::new(std::iter::once(name), columns).name(name)
    }

    fn short(&self, name: &str) -> String {
        self.told_apart.get(name).cloned().unwrap_or_else(|| cut(name, self.columns))
    }

    pub(crate) fn name(&self, name: &str) -> String {
        self.escaped(name, markdown_code)
    }

    /// [`ShortNames::name`] for a table: a long one may be split into lines.
    pub(crate) fn name_in_cell(&self, name: &str) -> String {
        self.escaped(name, markdown_code_folding)
    }

    fn escaped(&self, name: &str, escape: fn(&str) -> String) -> String {
        // Combining accents take no column, but each may become an entity.
        within(&self.short(name), self.columns * 6 + 40, escape)
    }
}

fn cut(name: &str, columns: usize) -> String {
    cut_middle(&visible(name), columns, "…")
}

/// Names whose cut forms are equal: shown with the part in which they differ, if that fits; else with a digest of the
/// whole name at their end.
fn tell_apart(names: &[&str], columns: usize) -> HashMap<String, String> {
    let shown: Vec<Vec<char>> = names.iter().map(|name| visible(name).chars().collect()).collect();
    let first = &shown[0];
    let least = shown.iter().map(Vec::len).min().unwrap_or(0);
    let start = (0..least).take_while(|at| shown.iter().all(|name| name[*at] == first[*at])).count();
    let from_end = |name: &[char], back: usize| name[name.len() - back];
    let ends_alike = |back: &usize| shown.iter().all(|name| from_end(name, *back) == from_end(first, *back));
    let end = (1..=least - start).take_while(ends_alike).count();
    let with_difference = |name: &Vec<char>| {
        let part = |range: std::ops::Range<usize>| name[range].iter().collect::<String>();
        let differing = part(start..name.len() - end);
        let room = columns.checked_sub(width(&differing)).filter(|room| *room >= 8)?;
        // The beginning identifies the benchmark.
        let before = cut_middle(&part(0..start), room * 2 / 3, "…");
        let after = cut_middle(&part(name.len() - end..name.len()), room - width(&before), "…");
        Some(format!("{before}{differing}{after}"))
    };
    let apart = |shown: &Vec<String>| shown.iter().collect::<BTreeSet<_>>().len() == names.len();
    let differing: Option<Vec<String>> = shown.iter().map(with_difference).collect();
    match differing.filter(apart) {
        Some(shown) => names.iter().map(|name| (*name).to_owned()).zip(shown).collect(),
        None => digested(names, columns),
    }
}

fn digested(names: &[&str], columns: usize) -> HashMap<String, String> {
    let digest = |name: &str| sha256_hex(name.as_bytes()).chars().take(8).collect::<String>();
    let room = columns.saturating_sub(9);
    names.iter().map(|name| ((*name).to_owned(), format!("{}~{}", cut(name, room), digest(name)))).collect()
}

/// Plain text in one line of at most `bytes` bytes.
pub(crate) fn plain(text: &str, bytes: usize) -> String {
    within(text, bytes, |text| visible(text).into_owned())
}

/// A figure with its unit, with no-break spaces.
pub(crate) fn figure(text: &str) -> String {
    prose(text, 90).replace(' ', "\u{a0}")
}

fn within(text: &str, bytes: usize, escape: impl Fn(&str) -> String) -> String {
    // No character becomes less than a byte.
    let mut chars = text.chars().take(bytes + 1).count();
    if chars <= bytes {
        let whole = escape(text);
        if whole.len() <= bytes {
            return whole;
        }
    }
    let mut shown = String::new();
    while shown.is_empty() || shown.len() > bytes && chars > 0 {
        chars = chars * 3 / 4;
        let cut: String = text.chars().take(chars).collect();
        shown = escape(&format!("{}…", cut.trim_end()));
    }
    shown
}

pub(crate) struct ByteBudget(usize);

impl ByteBudget {
    pub(crate) fn new(bytes: usize) -> Self {
        Self(bytes)
    }

    pub(crate) fn left(&self) -> usize {
        self.0
    }

    /// Takes the bytes and returns true if they fit.
    pub(crate) fn take(&mut self, bytes: usize) -> bool {
        let enough = bytes <= self.0;
        if enough {
            self.0 -= bytes;
        }
        enough
    }

    pub(crate) fn fit(&mut self, text: String) -> String {
        if self.take(text.len()) { text } else { String::new() }
    }

    /// Reserves up to `bytes`, for a mandatory part or to be returned later.
    pub(crate) fn set_aside(&mut self, bytes: usize) -> usize {
        let aside = bytes.min(self.0);
        self.0 -= aside;
        aside
    }

    pub(crate) fn put_back(&mut self, bytes: usize) {
        self.0 += bytes;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_name_that_is_cut_keeps_what_tells_it_apart() {
        let alone = ShortNames::new(std::iter::empty(), 12);
        assert_eq!(alone.name("kernels/gemm[n=1024]"), "`kern…n=1024]`");
    }

    #[test]
    fn n21_names_that_differ_never_look_alike() {
        let long = |middle: &str| format!("kernels/{}_{middle}_{}[n=1024]", "a".repeat(40), "z".repeat(40));
        let names: Vec<String> = (0..35).map(|index| long(&format!("tile{index}"))).collect();
        for columns in [60, 40] {
            let short = ShortNames::new(names.iter().map(String::as_str), columns);
            let shown: BTreeSet<String> = names.iter().map(|name| short.short(name)).collect();
            assert_eq!(shown.len(), names.len(), "{shown:?}");
            assert!(shown.iter().all(|name| width(name) <= columns));
            let seventh = short.short(&names[7]);
            assert!(seventh.contains('7') && seventh.starts_with("kern"), "{seventh}");
        }
        // They differ in two distant places, more than fits.
        let two = |i| format!("s/{}{}{}{}{}", "a".repeat(30), i % 2, "b".repeat(90), i / 2, "c".repeat(60));
        let names: Vec<String> = (0..4).map(two).collect();
        let short = ShortNames::new(names.iter().map(String::as_str), 40);
        let shown: BTreeSet<String> = names.iter().map(|name| short.short(name)).collect();
        assert_eq!(shown.len(), 4, "{shown:?}");
        assert!(shown.iter().all(|name| width(name) <= 40));
    }

    proptest! {
        #[test]
        fn n21_any_names_fit_and_stay_apart(
            names in proptest::collection::btree_set("[ab/é]{20,90}", 2..12),
            columns in 24usize..60,
        ) {
            let short = ShortNames::new(names.iter().map(String::as_str), columns);
            let shown: BTreeSet<String> = names.iter().map(|name| short.short(name)).collect();
            prop_assert!(shown.iter().all(|name| width(name) <= columns), "{:?}", shown);
            prop_assert_eq!(shown.len(), names.len(), "{:?}", shown);
        }

        #[test]
        fn no_text_is_longer_than_its_share(text in "(.|[\u{300}\u{202e}@#&<]){0,200}", bytes in 32usize..200) {
            prop_assert!(prose(&text, bytes).len() <= bytes);
            prop_assert!(plain(&text, bytes).len() <= bytes);
            let short = ShortNames::new(std::iter::once(text.as_str()), bytes);
            prop_assert!(short.name(&text).len() <= bytes * 6 + 40);
            prop_assert!(short.name_in_cell(&text).len() <= bytes * 6 + 40);
        }
    }
}
