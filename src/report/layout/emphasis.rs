//! How good or bad a result is: as a colour, a mark in a terminal and a sign in Markdown.

use crate::compare::{Conclusion, Verdict};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::report) enum Emphasis {
    Bad,
    Good,
    Doubt,
    Plain,
}

impl Emphasis {
    /// SGR parameters: bold, and the colours of the 16 that every terminal has.
    pub fn code(self) -> &'static str {
        match self {
            Emphasis::Bad => "1;31",
            Emphasis::Good => "1;32",
            Emphasis::Doubt => "1;33",
            Emphasis::Plain => "1",
        }
    }

    pub fn mark(self) -> char {
        match self {
            Emphasis::Bad => '✗',
            Emphasis::Good => '✓',
            Emphasis::Doubt => '?',
            Emphasis::Plain => '+',
        }
    }

    pub fn sign(self) -> &'static str {
        match self {
            Emphasis::Bad => "❌",
            Emphasis::Good => "✅",
            Emphasis::Doubt => "⚠️",
            Emphasis::Plain => "🆕",
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
            Verdict::Inconclusive => Emphasis::Doubt,
            Verdict::Improved | Verdict::Unchanged => Emphasis::Good,
            Verdict::New => Emphasis::Plain,
        }
    }
}
