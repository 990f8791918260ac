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
        // A form that distinguishes some names may make them equal to others.
        let shown: Vec<_> = long.iter().map(|name| (short.short(name), *name)).collect();
        for (_, alike) in together(shown).into_iter().filter(|(_, alike)| alike.len() > 1) {
            short.told_apart.extend(digested(&alike, columns));
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

/// Names whose cut forms are equal: shown with the part in which they differ, if that fits; else with the words in which
/// they do.
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
        None => {
            let words: Vec<Vec<&str>> = names.iter().map(|name| words(name)).collect();
            let mut kept = vec![BTreeSet::new(); names.len()];
            keep_differing(&words, (0..names.len()).collect(), 0, &mut kept);
            let shown = words.iter().zip(&kept).map(|(words, kept)| with_words(words, kept, columns));
            let shown = names.iter().zip(shown);
            shown
                .map(|(name, shown)| {
                    ((*name).to_owned(), shown.unwrap_or_else(|| digested_one(name, columns)))
                })
                .collect()
        }
    }
}

/// The words of a name, each with the separators behind it.
fn words(name: &str) -> Vec<&str> {
    let is_separator = |c: char| !c.is_alphanumeric() && c != '.';
    let begins = |(at, c): &(usize, char)| {
        let before = name[..*at].chars().next_back();
        before.is_some_and(is_separator) && !is_separator(*c)
    };
    let mut ends: Vec<usize> = name.char_indices().filter(begins).map(|(at, _)| at).collect();
    ends.push(name.len());
    let mut from = 0;
    ends.into_iter().map(|end| &name[std::mem::replace(&mut from, end)..end]).collect()
}

/// Keeps, for each name, the places of the words in which it differs from the others of `among`, which are equal before `from`.
fn keep_differing(words: &[Vec<&str>], among: Vec<usize>, from: usize, kept: &mut [BTreeSet<usize>]) {
    let word = |name: usize, at: usize| words[name].get(at);
    let longest = among.iter().map(|name| words[*name].len()).max().unwrap_or(0);
    let differs = |at: &usize| among.iter().any(|name| word(*name, *at) != word(among[0], *at));
    let Some(at) = (from..longest).find(differs) else { return };
    among.iter().for_each(|name| _ = kept[*name].insert(at));
    for (_, alike) in together(among.into_iter().map(|name| (word(name, at), name))) {
        keep_differing(words, alike, at + 1, kept);
    }
}

/// A name with these of its words, and as many others as fit: the first one, which identifies the benchmark, those before the
/// differing ones, such as the name of a parameter, then those at the end. `None` if the words alone do not fit.
fn with_words(words: &[&str], differing: &BTreeSet<usize>, columns: usize) -> Option<String> {
    let shown = |kept: &BTreeSet<usize>| {
        let mut text = String::new();
        let mut next = 0;
        for at in kept.iter().copied().filter(|at| *at < words.len()) {
            text += if at > next { "…" } else { "" };
            text += &visible(words[at]);
            next = at + 1;
        }
        text + if next < words.len() { "…" } else { "" }
    };
    let fits = |kept: &BTreeSet<usize>| width(&shown(kept)) <= columns;
    let mut kept = differing.clone();
    if !fits(&kept) {
        return None;
    }
    let before = differing.iter().filter_map(|at| at.checked_sub(1));
    let mut add = |at: usize| {
        let more = kept.iter().copied().chain([at]).collect();
        let does_fit = fits(&more);
        if does_fit {
            kept = more;
        }
        does_fit
    };
    std::iter::once(0).chain(before).for_each(|at| _ = add(at));
    let _ = (0..words.len()).rev().try_for_each(|at| add(at).then_some(()));
    Some(shown(&kept))
}

/// A digest of the whole name at the end of each.
fn digested(names: &[&str], columns: usize) -> HashMap<String, String> {
    names.iter().map(|name| ((*name).to_owned(), digested_one(name, columns))).collect()
}

fn digested_one(name: &str, columns: usize) -> String {
    let digest: String = sha256_hex(name.as_bytes()).chars().take(8).collect();
    format!("{}~{digest}", cut(name, columns.saturating_sub(9)))
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
        // B27: in several distant words, some of which others share.
        let wide = |m: usize, n: usize, dtype: &str| {
            format!(
                "suite/{}[backend=cublas, m={m}, n={n}, k=4096, layout=row_major, dtype={dtype}, epilogue={}]",
                "g".repeat(30),
                "relu".repeat(9)
            )
        };
        let sizes = [1024, 2048, 4096];
        let shapes = || sizes.iter().flat_map(|m| sizes.iter().map(move |n| (*m, *n)));
        let names: Vec<String> =
            shapes().flat_map(|(m, n)| ["fp16", "fp32"].map(|dtype| wide(m, n, dtype))).collect();
        let short = ShortNames::new(names.iter().map(String::as_str), 40);
        let shown: Vec<String> = names.iter().map(|name| short.short(name)).collect();
        assert_eq!(shown.iter().collect::<BTreeSet<_>>().len(), names.len());
        assert_eq!(shown[3], "suite/…m=1024, n=2048, …dtype=fp32, …", "{shown:?}");
        assert!(shown.iter().all(|name| width(name) <= 40 && !name.contains('~')), "{shown:?}");
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
