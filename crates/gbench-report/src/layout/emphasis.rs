//! How good or bad a result is: as a colour, a mark in a terminal and a sign in Markdown.

use gbench_compare::{Conclusion, Verdict};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Emphasis {
    Bad,
    Good,
    Doubt,
    Plain,
}

pub(crate) struct Look {
    /// SGR parameters of a terminal: bold, and one of the 16 standard colours.
    pub color: &'static str,
    /// In a terminal.
    pub mark: char,
    /// In Markdown.
    pub sign: &'static str,
}

impl Emphasis {
    pub(crate) fn look(self) -> Look {
        match self {
            Emphasis::Bad => Look { color: "1;31", mark: '✗', sign: "❌" },
            Emphasis::Good => Look { color: "1;32", mark: '✓', sign: "✅" },
            Emphasis::Doubt => Look { color: "1;33", mark: '?', sign: "⚠️" },
            Emphasis::Plain => Look { color: "1", mark: '+', sign: "🆕" },
        }
    }
}

impl From<Conclusion> for Emphasis {
    fn from(conclusion: Conclusion) -> Self {
        match conclusion {
            Conclusion::Pass => Emphasis::Good,
            Conclusion::Regressed | Conclusion::Failed => Emphasis::Bad,
            Conclusion::Inconclusive | Conclusion::Incomparable => Emphasis::Doubt,
        }
    }
}

impl From<Verdict> for Emphasis {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Regressed | Verdict::Invalid | Verdict::Missing => Emphasis::Bad,
            Verdict::Inconclusive | Verdict::Broken => Emphasis::Doubt,
            Verdict::Improved | Verdict::Mended | Verdict::Unchanged => Emphasis::Good,
            Verdict::Gone | Verdict::New => Emphasis::Plain,
        }
    }
}
