//! Names and prose in so many bytes. A verdict may be hostile: no text of it is longer than its share.

use crate::report::escape::{markdown, markdown_code, markdown_code_folding, visible};
use crate::report::fit::cut_middle;

/// Prose for Markdown in at most `bytes` bytes (at least 32): its end gives way.
pub fn prose(text: &str, bytes: usize) -> String {
    within(text, bytes, |text| match text.contains('`') {
        // What stands in code is copied.
        true => markdown(text),
        // A percent sign stays with its figure.
        false => markdown(text).replace(" %", "\u{a0}%"),
    })
}

/// A name as inline code, shown in at most `columns` characters: its middle gives way.
pub fn name(text: &str, columns: usize) -> String {
    shortened(text, columns, markdown_code)
}

/// [`name`] for a table: a long one may be broken into lines.
pub fn name_in_cell(text: &str, columns: usize) -> String {
    shortened(text, columns, markdown_code_folding)
}

fn shortened(text: &str, columns: usize, escape: fn(&str) -> String) -> String {
    // Accents that stand on one letter take no column, and each may become an entity.
    within(&cut_middle(&visible(text), columns, "…"), columns * 6 + 40, escape)
}

/// Plain text in one line of at most `bytes` bytes.
pub fn plain(text: &str, bytes: usize) -> String {
    within(text, bytes, |text| visible(text).into_owned())
}

/// A figure with its unit, as prose that is never broken.
pub fn figure(text: &str) -> String {
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

/// Bytes that are left of a limit.
pub struct Purse(usize);

impl Purse {
    pub fn new(bytes: usize) -> Self {
        Self(bytes)
    }

    pub fn left(&self) -> usize {
        self.0
    }

    /// Whether there was room; only then it is taken.
    pub fn pay(&mut self, bytes: usize) -> bool {
        let enough = bytes <= self.0;
        if enough {
            self.0 -= bytes;
        }
        enough
    }

    /// The text if there is room for it, else nothing.
    pub fn buy(&mut self, text: String) -> String {
        if self.pay(text.len()) { text } else { String::new() }
    }

    /// Room for what must be there in any case.
    pub fn owe(&mut self, bytes: usize) {
        self.0 = self.0.saturating_sub(bytes);
    }

    /// Puts up to `bytes` aside, to be given back later.
    pub fn set_aside(&mut self, bytes: usize) -> usize {
        let aside = bytes.min(self.0);
        self.0 -= aside;
        aside
    }

    pub fn give_back(&mut self, bytes: usize) {
        self.0 += bytes;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_cut_says_so_and_keeps_what_tells_names_apart() {
        assert_eq!(prose("short", 32), "short");
        assert_eq!(prose(&"ab ".repeat(40), 32), "ab ab ab ab ab ab ab ab…");
        assert_eq!(name("kernels/gemm[n=1024]", 12), "`kern…n=1024]`");
        assert_eq!(figure("12.31 ms"), "12.31\u{a0}ms");
    }

    proptest! {
        #[test]
        fn no_text_is_longer_than_its_share(text in "(.|[\u{300}\u{202e}@#&<]){0,200}", bytes in 32usize..200) {
            prop_assert!(prose(&text, bytes).len() <= bytes);
            prop_assert!(plain(&text, bytes).len() <= bytes);
            prop_assert!(name(&text, bytes).len() <= bytes * 6 + 40);
            prop_assert!(name_in_cell(&text, bytes).len() <= bytes * 6 + 40);
        }
    }
}
