//! One value of a TOML tree with spans. Each method either returns a value or records a fault at its position, and reading
//! continues: one pass finds all mistakes.

use std::fmt::Display;
use std::ops::{Range, RangeInclusive};

use strum::IntoEnumIterator;
use toml::Spanned;
use toml::de::DeValue;

use super::file_text::FileText;
use crate::benchmark::template::find_word;
use crate::words::{advise, listed};
use gbench_model::{Origin, Setting};

/// A value and its key.
#[derive(Clone)]
pub(crate) struct Item<'t> {
    pub page: &'t FileText,
    pub key: &'t str,
    pub key_span: Range<usize>,
    pub span: Range<usize>,
    pub value: &'t DeValue<'t>,
}

impl<'t> Item<'t> {
    pub(crate) fn origin(&self) -> Origin {
        self.page.origin(self.span.start)
    }

    pub(crate) fn fault(&self, what: impl Display, next: impl Display) {
        self.page.fault(self.span.clone(), what, next);
    }

    /// Records a fault; always `None`.
    pub(crate) fn refuse<T>(&self, what: impl Display, next: impl Display) -> Option<T> {
        self.fault(what, next);
        None
    }

    /// Records that the value has another type; always `None`.
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

    pub(crate) fn text(&self) -> Option<&'t str> {
        match self.value {
            DeValue::String(text) if text.contains('\0') => self.refuse(
                format!("`{}` contains a NUL character, which a program cannot receive", self.key),
                "remove `\\u0000`",
            ),
            DeValue::String(text) => Some(text),
            _ => self.wrong("text in quotes"),
        }
    }

    pub(crate) fn filled(&self) -> Option<&'t str> {
        let text = self.text()?;
        if text.trim().is_empty() {
            return self.refuse(format!("`{}` is empty", self.key), "give it a value, or remove the line");
        }
        Some(text)
    }

    /// An expression in a small language. Its parser recurses, so that the length is limited.
    pub(crate) fn expression(&self) -> Option<&'t str> {
        const LONGEST: usize = 500;
        let text = self.filled()?;
        if text.len() > LONGEST {
            let what = format!("`{}` is longer than {LONGEST} bytes", self.key);
            return self.refuse(what, "shorten it, or split it into several");
        }
        Some(text)
    }

    /// [`Item::expression`] for a parser that uses much stack for every bracket.
    pub(super) fn bracketed(&self, kind: &str, next: &str) -> Option<&'t str> {
        const MAX_BRACKETS: usize = 32;
        let text = self.expression()?;
        if text.matches(['(', '[', '{']).count() > MAX_BRACKETS {
            return self.refuse(format!("this {kind} has more than {MAX_BRACKETS} opening brackets"), next);
        }
        Some(text)
    }

    /// The place of a word of the text; the whole value if an escape hides it.
    pub(super) fn place_of(&self, word: &str) -> Range<usize> {
        let found = find_word(self.page.slice(self.span.clone()), word);
        found.map_or(self.span.clone(), |found| self.span.start + found.start..self.span.start + found.end)
    }

    pub(crate) fn flag(&self) -> Option<bool> {
        match self.value {
            DeValue::Boolean(flag) => Some(*flag),
            _ => self.wrong("`true` or `false`, without quotes"),
        }
    }

    pub(crate) fn word<T: Copy>(&self, words: &[(&str, T)]) -> Option<T> {
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

    pub(crate) fn variant<T: IntoEnumIterator + Copy + Into<&'static str>>(&self) -> Option<T> {
        self.word(&T::iter().map(|variant| (variant.into(), variant)).collect::<Vec<_>>())
    }

    pub(super) fn integer(&self) -> Option<i64> {
        match self.value {
            DeValue::Integer(number) => {
                let read = i64::from_str_radix(number.as_str(), number.radix()).ok();
                if read.is_none() {
                    self.fault(
                        format!("`{}` does not fit 64 bits", self.key),
                        "write a smaller number, or put it in quotes as text",
                    );
                }
                read
            }
            _ => self.wrong("a whole number"),
        }
    }

    pub(crate) fn whole(&self, range: RangeInclusive<u64>) -> Option<u64> {
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

    pub(crate) fn number_of(&self, range: RangeInclusive<u32>) -> Option<u32> {
        self.whole(u64::from(*range.start())..=u64::from(*range.end())).map(|number| number as u32)
    }

    /// A number that fits; `next`: the next step for others.
    pub(crate) fn number_that(&self, fits: impl Fn(f64) -> bool, next: &str) -> Option<f64> {
        let number = self.number()?;
        if fits(number) {
            Some(number)
        } else {
            self.refuse(format!("`{}` cannot be {number}", self.key), next)
        }
    }

    pub(crate) fn number(&self) -> Option<f64> {
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

    /// The members of a list, each with the list's key.
    pub(crate) fn list(&self, wanted: &str) -> Option<Vec<Item<'t>>> {
        let DeValue::Array(members) = self.value else { return self.wrong(wanted) };
        let member = |value: &'t Spanned<DeValue<'t>>| Item {
            span: value.span(),
            value: value.get_ref(),
            ..self.clone()
        };
        Some(members.iter().map(member).collect())
    }

    /// A list of texts that are not blank. Other members are reported and left out.
    pub(crate) fn texts(&self, example: &str) -> Option<Vec<String>> {
        let members = self.list(&format!("a list of strings, such as {example}"))?;
        Some(members.iter().filter_map(|member| member.filled().map(str::to_owned)).collect())
    }
}

/// Sets the value of the file; an invalid value is reported.
pub(crate) fn set<'t, T>(
    setting: &mut Setting<T>,
    item: Option<Item<'t>>,
    read: impl FnOnce(&Item<'t>) -> Option<T>,
) {
    let Some(item) = item else { return };
    if let Some(value) = read(&item) {
        setting.set(value, item.origin());
    }
}

/// Reports keys that are not allowed, each with `why`.
pub(super) fn refuse_each<'t>(items: impl IntoIterator<Item = Item<'t>>, why: &str, next: &str) {
    items.into_iter().for_each(|item| item.fault(format!("`{}` {why}", item.key), next));
}

/// `None`: the item is invalid. `Some(None)`: there is none.
pub(crate) fn optional<'t, T>(
    item: Option<Item<'t>>,
    read: impl FnOnce(&Item<'t>) -> Option<T>,
) -> Option<Option<T>> {
    item.map_or(Some(None), |item| read(&item).map(Some))
}
