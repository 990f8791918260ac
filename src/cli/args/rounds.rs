//! The flags of a comparison of two commits.

use strum::IntoEnumIterator;

use super::selection::value;
use crate::app::request::RoundsRequest;
use crate::model::{Budget, Interleaving, Result, near};
use crate::suite::words::parse_seconds;

/// How a comparison of two commits is measured.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Between commits")]
pub(crate) struct RoundsArgs {
    /// Time for the rounds, such as 10m; cases still undecided when it runs out are inconclusive [default: until every case
    /// is decided]
    #[arg(long, value_name = "DURATION", allow_negative_numbers = true)]
    pub budget: Option<String>,
    /// Maximum number of rounds; a case that is still undecided then is inconclusive [default: 40]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(4..=10_000))]
    pub rounds: Option<u32>,
    /// How the two processes of a round share the machine: `alternating` runs one after the other, `lockstep` starts
    /// both and lets them take turns in short blocks [default: alternating]
    #[arg(long, alias = "way", value_name = "MODE", value_parser = interleaving)]
    pub interleave: Option<Interleaving>,
    /// Number of cases for which the base is also compared with itself, to check the gate [default: 5, at most an eighth of
    /// the cases]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub controls: Option<u32>,
    /// Seed of the random order in which the sides of each round run [default: a fresh one]
    #[arg(long, alias = "coin", value_name = "NUMBER")]
    pub order_seed: Option<u64>,
    /// Let the code of both sides write wherever you can, including to the other side; see docs/security.md
    #[arg(long)]
    pub no_sandbox: bool,
}

impl RoundsArgs {
    /// Errors: a budget that is no duration.
    pub(crate) fn request(&self) -> Result<RoundsRequest> {
        let budget = budget(&self.budget)?;
        let Self { rounds, interleave, controls, order_seed, no_sandbox, .. } = *self;
        Ok(RoundsRequest { budget, rounds, interleave, controls, order_seed, no_sandbox })
    }
}

/// `--budget`. Errors: no duration.
pub(crate) fn budget(text: &Option<String>) -> Result<Option<Budget>> {
    let read = |text: &str| parse_seconds(text).map(Budget::from_seconds);
    value("--budget", text, read, "a duration such as 90s or 10m")
}

fn interleaving(text: &str) -> std::result::Result<Interleaving, String> {
    let words: Vec<&str> = Interleaving::iter().map(|mode| mode.into_str()).collect();
    text.parse().map_err(|_| match near(text, &words).first() {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("write one of {}", words.join(", ")),
    })
}
