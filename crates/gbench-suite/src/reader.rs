//! Walks a TOML tree that kept its spans. Every question asked of a value either answers or leaves a fault
//! that points at the very characters, and reading goes on: one look at the file finds all mistakes.

use std::cell::RefCell;
use std::fmt::Display;
use std::ops::{Range, RangeInclusive};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use strum::IntoEnumIterator;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::template::find_word;
use super::words::{
    advise, check_ratio, check_seconds, listed, parse_margin, parse_memory_clock, parse_ratio, parse_seconds,
    parse_size,
};
use super::{Declared, KeepRuns};
use gbench_model::{ClockChoice, Fault, Margin, Origin, Setting};

/// One file under reading and the faults found in it so far.
pub(super) struct FileText {
    path: PathBuf,
    text: Arc<str>,
    line_starts: Vec<usize>,
    /// The variable of the environment that the text stands for.
    variable: Option<String>,
    faults: RefCell<Vec<(usize, Fault)>>,
}

impl FileText {
    pub(super) fn new(path: &Path, text: Arc<str>) -> Self {
        let after_breaks = text.match_indices('\n').map(|(at, _)| at + 1);
        let line_starts = std::iter::once(0).chain(after_breaks).collect();
        Self { path: path.into(), text, line_starts, variable: None, faults: RefCell::default() }
    }

    /// A line of a suite file that a variable of the environment stands for.
    pub(super) fn of_variable(name: &str, text: Arc<str>) -> Self {
        Self { variable: Some(name.to_owned()), ..Self::new(Path::new(name), text) }
    }

    pub(super) fn fault(&self, span: Range<usize>, what: impl Display, next: impl Display) {
        let fault = Fault::in_text(&self.path, &self.text, span.clone(), what, next);
        self.faults.borrow_mut().push((span.start, fault));
    }

    /// One-based.
    pub(super) fn line(&self, offset: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= offset)
    }

    /// The file and the line of an offset.
    pub(super) fn place(&self, offset: usize) -> Declared {
        let name = self.path.file_name().unwrap_or(self.path.as_os_str());
        Declared::At { file: name.to_string_lossy().into_owned(), line: self.line(offset) }
    }

    /// The characters of the file that a span covers.
    pub(super) fn slice(&self, span: Range<usize>) -> &str {
        self.text.get(span).unwrap_or("")
    }

    pub(super) fn is_clean(&self) -> bool {
        self.faults.borrow().is_empty()
    }

    /// All faults as one, in the order of the file.
    pub(super) fn into_fault(self) -> Option<Fault> {
        let mut faults = self.faults.into_inner();
        faults.sort_by_key(|(start, _)| *start);
        Fault::chain(faults.into_iter().map(|(_, fault)| fault).collect())
    }
}

/// One value and the key it stands under.
#[derive(Clone)]
pub(super) struct Item<'t> {
    pub page: &'t FileText,
    pub key: &'t str,
    pub key_span: Range<usize>,
    pub span: Range<usize>,
    pub value: &'t DeValue<'t>,
}

impl<'t> Item<'t> {
    pub(super) fn origin(&self) -> Origin {
        match &self.page.variable {
            Some(name) => Origin::Environment(name.clone()),
            None => Origin::File(self.page.place(self.span.start).to_string()),
        }
    }

    pub(super) fn fault(&self, what: impl Display, next: impl Display) {
        self.page.fault(self.span.clone(), what, next);
    }

    /// Records a fault of a value that there is none instead of; always `None`.
    pub(super) fn refuse<T>(&self, what: impl Display, next: impl Display) -> Option<T> {
        self.fault(what, next);
        None
    }

    /// Records that the value is of another kind; always `None`.
    pub(super) fn wrong<T>(&self, wanted: &str) -> Option<T> {
        let kind = match self.value {
            DeValue::String(_) => "text",
            DeValue::Integer(_) => "a whole number",
            DeValue::Float(_) => "a number with a point",
            DeValue::Boolean(_) => "true or false",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        self.refuse(format!("`{}` is {kind}", self.key), format!("write {wanted}"))
    }

    pub(super) fn text(&self) -> Option<&'t str> {
        match self.value {
            DeValue::String(text) if text.contains('\0') => self.refuse(
                format!("`{}` holds a NUL character, which no program can be given", self.key),
                "take `\\u0000` out",
            ),
            DeValue::String(text) => Some(text),
            _ => self.wrong("text in quotes"),
        }
    }

    /// Text that is not blank.
    pub(super) fn filled(&self) -> Option<&'t str> {
        let text = self.text()?;
        if text.trim().is_empty() {
            return self.refuse(format!("`{}` is empty", self.key), "give it a value, or take the line out");
        }
        Some(text)
    }

    /// Text for one of the small languages: their parsers recurse, so that length has to end somewhere.
    pub(super) fn expression(&self) -> Option<&'t str> {
        const LONGEST: usize = 500;
        let text = self.filled()?;
        if text.len() > LONGEST {
            let what = format!("`{}` is longer than {LONGEST} bytes", self.key);
            return self.refuse(what, "shorten it, or split it into several");
        }
        Some(text)
    }

    /// [`Item::expression`] for a parser to which every bracket costs a good part of a small stack.
    pub(super) fn bracketed(&self, kind: &str, next: &str) -> Option<&'t str> {
        const MAX_BRACKETS: usize = 32;
        let text = self.expression()?;
        if text.matches(['(', '[', '{']).count() > MAX_BRACKETS {
            return self.refuse(format!("this {kind} has more than {MAX_BRACKETS} opening brackets"), next);
        }
        Some(text)
    }

    /// Where a word of the text stands in the file; the whole value where an escape hides it.
    pub(super) fn place_of(&self, word: &str) -> Range<usize> {
        let found = find_word(self.page.slice(self.span.clone()), word);
        found.map_or(self.span.clone(), |found| self.span.start + found.start..self.span.start + found.end)
    }

    pub(super) fn flag(&self) -> Option<bool> {
        match self.value {
            DeValue::Boolean(flag) => Some(*flag),
            _ => self.wrong("`true` or `false`, without quotes"),
        }
    }

    /// One of a few words.
    pub(super) fn word<T: Copy>(&self, words: &[(&str, T)]) -> Option<T> {
        let names: Vec<_> = words.iter().map(|(name, _)| *name).collect();
        let DeValue::String(word) = self.value else {
            return self.wrong(&format!("one of {}", listed(&names)));
        };
        let found = words.iter().find(|(name, _)| name == word);
        if found.is_none() {
            self.fault(format!("`{}` cannot be `{word}`", self.key), advise(word, &names));
        }
        found.map(|(_, value)| *value)
    }

    /// One of an enum's words.
    pub(super) fn variant<T: IntoEnumIterator + Copy + Into<&'static str>>(&self) -> Option<T> {
        self.word(&T::iter().map(|variant| (variant.into(), variant)).collect::<Vec<_>>())
    }

    /// The value as an `i64`, if it is a whole number that fits.
    pub(super) fn integer(&self) -> Option<i64> {
        match self.value {
            DeValue::Integer(number) => {
                let read = i64::from_str_radix(number.as_str(), number.radix()).ok();
                if read.is_none() {
                    self.fault(
                        format!("`{}` is larger than 64 bits hold", self.key),
                        "write a smaller number, or put it in quotes as text",
                    );
                }
                read
            }
            _ => self.wrong("a whole number"),
        }
    }

    pub(super) fn whole(&self, range: RangeInclusive<u64>) -> Option<u64> {
        let number = self.integer()?;
        let within = u64::try_from(number).ok().filter(|number| range.contains(number));
        if within.is_none() {
            let next = match *range.end() {
                u64::MAX => format!("write a whole number of {} or more", range.start()),
                end => format!("write a whole number from {} to {end}", range.start()),
            };
            self.fault(format!("`{}` cannot be {number}", self.key), next);
        }
        within
    }

    /// [`Item::whole`] of 32 bits.
    pub(super) fn number_of(&self, range: RangeInclusive<u32>) -> Option<u32> {
        self.whole(u64::from(*range.start())..=u64::from(*range.end())).map(|number| number as u32)
    }

    /// A number that fits; `next` is what to do about one that does not.
    pub(super) fn number_that(&self, fits: impl Fn(f64) -> bool, next: &str) -> Option<f64> {
        let number = self.number()?;
        if fits(number) {
            Some(number)
        } else {
            self.refuse(format!("`{}` cannot be {number}", self.key), next)
        }
    }

    /// A number, whole or not, and finite.
    pub(super) fn number(&self) -> Option<f64> {
        let number = match self.value {
            DeValue::Integer(_) => self.integer()? as f64,
            DeValue::Float(number) => number.as_str().parse().unwrap_or(f64::NAN),
            _ => return self.wrong("a number"),
        };
        if !number.is_finite() {
            return self
                .refuse(format!("`{}` is not a finite number", self.key), "write a number such as 1.5");
        }
        Some(number)
    }

    /// The value that `read` makes of text, or `check` of a number.
    fn quantity<T>(
        &self,
        read: impl Fn(&str) -> Result<T, String>,
        check: impl Fn(f64) -> Result<T, String>,
        example: &str,
    ) -> Option<T> {
        let answer = match self.value {
            DeValue::String(text) => read(text),
            DeValue::Integer(_) | DeValue::Float(_) => check(self.number()?),
            _ => return self.wrong(example),
        };
        answer.map_err(|what| self.fault(format!("`{}`: {what}", self.key), format!("write {example}"))).ok()
    }

    /// Seconds of 0 or more.
    pub(super) fn seconds(&self) -> Option<f64> {
        self.quantity(parse_seconds, check_seconds, "a duration such as \"90s\", \"1m 30s\" or \"500ms\"")
    }

    /// A number of runs, or an age.
    pub(super) fn keep_runs(&self) -> Option<KeepRuns> {
        let text = match self.value {
            DeValue::String(text) => text.to_string(),
            DeValue::Integer(_) => self.integer()?.to_string(),
            _ => return self.wrong("a number of runs or an age such as \"30d\""),
        };
        text.parse().map_err(|what| self.fault(format!("`{}`: {what}", self.key), KeepRuns::FORMS)).ok()
    }

    /// Seconds above 0: a deadline of nothing would fail every process.
    pub(super) fn deadline(&self) -> Option<f64> {
        let seconds = self.seconds()?;
        if seconds == 0.0 {
            return self.refuse(
                format!("`{}` allows no time at all", self.key),
                "write a duration above 0, such as \"90s\"",
            );
        }
        Some(seconds)
    }

    /// Bytes; 0 is allowed.
    pub(super) fn bytes(&self) -> Option<u64> {
        let check = |number: f64| {
            if number >= 0.0 && number.fract() == 0.0 {
                Ok(number as u64)
            } else {
                Err(format!("{number} is not a number of bytes"))
            }
        };
        self.quantity(parse_size, check, "a size such as \"8 GiB\", \"512 MB\" or a number of bytes")
    }

    /// A relative change: `"5%"` or `0.05`.
    pub(super) fn ratio(&self) -> Option<f64> {
        self.quantity(parse_ratio, check_ratio, "a change such as \"5%\" or 0.05")
    }

    /// An absolute difference: `"50 ns"`, `"64 KiB"`, or a number in the metric's own unit.
    pub(super) fn margin(&self) -> Option<Margin> {
        let check = |value: f64| {
            if value > 0.0 {
                Ok(Margin { value, unit: String::new() })
            } else {
                Err(format!("{value} is not above 0"))
            }
        };
        self.quantity(parse_margin, check, "a difference such as \"50 ns\" or \"64 KiB\"")
    }

    /// `"base"`, `"max"`, `"off"`, or MHz: `1410`, `"1200-1410"`.
    pub(super) fn clock(&self) -> Option<ClockChoice> {
        self.quantity(
            str::parse,
            ClockChoice::of_mhz,
            "\"base\", \"max\" or MHz, such as 1410 or \"1200-1410\"",
        )
    }

    /// [`Item::clock`] of a memory.
    pub(super) fn memory_clock(&self) -> Option<ClockChoice> {
        self.quantity(parse_memory_clock, ClockChoice::of_mhz, "\"max\" or MHz, such as 2619")
    }

    /// The members of a list, each under the list's key.
    pub(super) fn list(&self, wanted: &str) -> Option<Vec<Item<'t>>> {
        let DeValue::Array(members) = self.value else { return self.wrong(wanted) };
        let member = |value: &'t Spanned<DeValue<'t>>| Item {
            span: value.span(),
            value: value.get_ref(),
            ..self.clone()
        };
        Some(members.iter().map(member).collect())
    }

    /// A list of texts that are not blank. Members of other kinds are reported and left out.
    pub(super) fn texts(&self, example: &str) -> Option<Vec<String>> {
        let members = self.list(&format!("a list of texts, such as {example}"))?;
        Some(members.iter().filter_map(|member| member.filled().map(str::to_owned)).collect())
    }

    pub(super) fn table(&self) -> Option<Table<'t>> {
        match self.value {
            DeValue::Table(entries) => Some(Table {
                page: self.page,
                name: self.key.to_owned(),
                span: self.span.clone(),
                entries,
                known: Vec::new(),
            }),
            _ => self.wrong(&format!("a table of its own: `[{}]`", self.key)),
        }
    }
}

/// Sets what the file has; a value that cannot be read stays on the page as a fault.
pub(super) fn set<'t, T>(
    setting: &mut Setting<T>,
    item: Option<Item<'t>>,
    read: impl FnOnce(&Item<'t>) -> Option<T>,
) {
    let Some(item) = item else { return };
    if let Some(value) = read(&item) {
        setting.set(value, item.origin());
    }
}

/// Reports what is given and cannot be: each as its key and `why`.
pub(super) fn refuse_each<'t>(items: impl IntoIterator<Item = Item<'t>>, why: &str, next: &str) {
    items.into_iter().for_each(|item| item.fault(format!("`{}` {why}", item.key), next));
}

/// What an item gives where there is one; `None` where it cannot be read.
pub(super) fn optional<'t, T>(
    item: Option<Item<'t>>,
    read: impl FnOnce(&Item<'t>) -> Option<T>,
) -> Option<Option<T>> {
    item.map_or(Some(None), |item| read(&item).map(Some))
}

/// A table whose keys are asked for one by one; [`Table::close`] then reports those that no reader asked for.
pub(super) struct Table<'t> {
    pub page: &'t FileText,
    pub name: String,
    pub span: Range<usize>,
    entries: &'t DeTable<'t>,
    known: Vec<&'static str>,
}

impl<'t> Table<'t> {
    pub(super) fn root(page: &'t FileText, entries: &'t DeTable<'t>) -> Self {
        Self { page, name: "this file".into(), span: 0..0, entries, known: Vec::new() }
    }

    pub(super) fn take(&mut self, key: &'static str) -> Option<Item<'t>> {
        self.known.push(key);
        self.entries.iter().find(|(name, _)| name.get_ref() == key).map(|entry| self.item(entry))
    }

    /// Notes that a key is known.
    pub(super) fn note(&mut self, key: &'static str) {
        self.known.push(key);
    }

    /// An entry that was taken before, or noted, once more.
    pub(super) fn again(&self, key: &'static str) -> Option<Item<'t>> {
        self.entries.iter().find(|(name, _)| name.get_ref() == key).map(|entry| self.item(entry))
    }

    /// The item of the one of these keys that is given. Faults: `what` and `next` where it is none of them; two of them, with
    /// `who` takes them and `one` to do.
    pub(super) fn one_of<const N: usize>(
        &mut self,
        keys: [&'static str; N],
        who: &str,
        (what, next): (&str, &str),
        one: &str,
    ) -> Option<Item<'t>> {
        let mut given: Vec<Item> = keys.into_iter().filter_map(|key| self.take(key)).collect();
        given.sort_by_key(|item| item.key_span.start);
        match given.as_slice() {
            [] => self.page.fault(self.span.clone(), what, next),
            [only] => return Some(only.clone()),
            [first, second, ..] => {
                let what = format!("{who} takes `{}` or `{}`, not both", first.key, second.key);
                self.page.fault(second.key_span.clone(), what, one);
            }
        }
        None
    }

    /// The value of a key that has to be there.
    pub(super) fn need(&mut self, key: &'static str, example: &str) -> Option<Item<'t>> {
        let found = self.take(key);
        if found.is_none() {
            let what = format!("{} has no `{key}`", self.named());
            self.page.fault(self.span.clone(), what, format!("add {example}"));
        }
        found
    }

    pub(super) fn table(&mut self, key: &'static str) -> Option<Table<'t>> {
        self.take(key)?.table()
    }

    /// The table in a sentence; the root is no word of the file and stands without marks.
    fn named(&self) -> String {
        if self.span.is_empty() { self.name.clone() } else { format!("`{}`", self.name) }
    }

    fn item(&self, (key, value): (&'t Spanned<DeString<'t>>, &'t Spanned<DeValue<'t>>)) -> Item<'t> {
        Item {
            page: self.page,
            key: key.get_ref(),
            key_span: key.span(),
            span: value.span(),
            value: value.get_ref(),
        }
    }

    /// Every entry, in the order of the file.
    pub(super) fn items(&self) -> Vec<Item<'t>> {
        let mut items: Vec<_> = self.entries.iter().map(|entry| self.item(entry)).collect();
        items.sort_by_key(|item| item.key_span.start);
        items
    }

    /// Reports every key that was never asked for.
    pub(super) fn close(self) {
        for item in self.items() {
            if !self.known.contains(&item.key) {
                let what = format!("{} has no key `{}`", self.named(), item.key);
                self.page.fault(item.key_span.clone(), what, advise(item.key, &self.known));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_nobody_asked_for_are_reported_in_the_order_of_the_file() {
        let text = "b = 1\nprocesses = 2\na = 3\n";
        let page = FileText::new(Path::new("gbench.toml"), text.into());
        let tree = DeTable::parse(text).unwrap();
        let mut root = Table::root(&page, tree.get_ref());
        assert_eq!(root.take("processes").and_then(|item| item.whole(1..=9)), Some(2));
        assert!(root.need("id", "`id = \"x\"`").is_none());
        root.close();
        let fault = page.into_fault().unwrap();
        let whats: Vec<_> = fault.each().map(|fault| fault.what.as_str()).collect();
        assert_eq!(whats, ["this file has no `id`", "this file has no key `b`", "this file has no key `a`"]);
    }

    #[test]
    fn lines_are_counted_from_one() {
        let page = FileText::new(Path::new("some/gbench.toml"), "ab\ncd\n".into());
        assert_eq!([0, 2, 3, 5, 6].map(|offset| page.line(offset)), [1, 1, 2, 2, 3]);
        assert_eq!(page.place(3).to_string(), "gbench.toml:2");
    }
}
