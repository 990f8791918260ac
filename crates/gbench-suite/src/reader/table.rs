//! A table of a suite file.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::file_text::FileText;
use super::item::Item;
use crate::words::advise;

/// A table whose keys are taken one by one. [`Table::close`] reports the keys that were not taken.
pub(crate) struct Table<'t> {
    pub page: &'t FileText,
    pub name: String,
    pub span: Range<usize>,
    entries: &'t DeTable<'t>,
    known: Vec<&'static str>,
}

impl<'t> Item<'t> {
    pub(crate) fn table(&self) -> Option<Table<'t>> {
        match self.value {
            DeValue::Table(entries) => Some(Table {
                page: self.page,
                name: self.key.to_owned(),
                span: self.span.clone(),
                entries,
                known: Vec::new(),
            }),
            _ => self.wrong(&format!("a table: `[{}]`", self.key)),
        }
    }
}

impl<'t> Table<'t> {
    pub(crate) fn root(page: &'t FileText, entries: &'t DeTable<'t>) -> Self {
        Self { page, name: "this file".into(), span: 0..0, entries, known: Vec::new() }
    }

    pub(crate) fn take(&mut self, key: &'static str) -> Option<Item<'t>> {
        self.known.push(key);
        self.entries.iter().find(|(name, _)| name.get_ref() == key).map(|entry| self.item(entry))
    }

    /// Marks a key as known.
    pub(crate) fn note(&mut self, key: &'static str) {
        self.known.push(key);
    }

    /// An entry, without marking its key as known.
    pub(crate) fn again(&self, key: &'static str) -> Option<Item<'t>> {
        self.entries.iter().find(|(name, _)| name.get_ref() == key).map(|entry| self.item(entry))
    }

    /// The item of the only given key among these. Faults: `what` and `next` without any; with two, `who` takes only one of
    /// them and `one` is the next step.
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

    pub(crate) fn need(&mut self, key: &'static str, example: &str) -> Option<Item<'t>> {
        let found = self.take(key);
        if found.is_none() {
            let what = format!("{} has no `{key}`", self.named());
            self.page.fault(self.span.clone(), what, format!("add {example}"));
        }
        found
    }

    pub(crate) fn table(&mut self, key: &'static str) -> Option<Table<'t>> {
        self.take(key)?.table()
    }

    /// The table in a sentence; the root is not a word of the file and has no marks.
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

    pub(super) fn items(&self) -> Vec<Item<'t>> {
        let mut items: Vec<_> = self.entries.iter().map(|entry| self.item(entry)).collect();
        items.sort_by_key(|item| item.key_span.start);
        items
    }

    pub(crate) fn close(self) {
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
    use std::path::Path;

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
}
