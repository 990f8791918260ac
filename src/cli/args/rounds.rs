//! The flags of a comparison of two commits.

use crate::model::{Fault, Origin, Result, Way, near};
use crate::suite::Gate;
use crate::suite::words::parse_seconds;

/// How a comparison of two commits is measured.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Between commits")]
pub struct RoundsArgs {
    /// Time for the rounds, such as 10m; what is open then is inconclusive [default: until all is decided]
    #[arg(long, value_name = "DURATION", allow_negative_numbers = true)]
    pub budget: Option<String>,
    /// Rounds after which an open case is inconclusive [default: 40]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(4..=10_000))]
    pub rounds: Option<u32>,
    /// How the two processes of a round share the machine: `alternating`, one after the other, or `lockstep`, by turns
    /// [default: alternating]
    #[arg(long, value_name = "WAY", value_parser = way)]
    pub way: Option<Way>,
    /// Cases of the base that are measured against themselves, as a check [default: 5, at most an eighth of the cases]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub controls: Option<u32>,
    /// Seed of the coin that decides who goes first in each round [default: a fresh one]
    #[arg(long, value_name = "NUMBER")]
    pub coin: Option<u64>,
}

impl RoundsArgs {
    /// The first flag that speaks of rounds, for refusing it where none are measured.
    pub fn first(&self) -> Option<&'static str> {
        let given = [
            (self.budget.is_some(), "--budget"),
            (self.rounds.is_some(), "--rounds"),
            (self.way.is_some(), "--way"),
            (self.controls.is_some(), "--controls"),
            (self.coin.is_some(), "--coin"),
        ];
        given.into_iter().find(|(given, _)| *given).map(|(_, flag)| flag)
    }

    /// Lets the flags speak over the suite file.
    pub fn apply(&self, gate: &mut Gate) -> Result<()> {
        if let Some(text) = &self.budget {
            let flag = format!("--budget {text}");
            let seconds = parse_seconds(text)
                .map_err(|what| Fault::at_flag(&flag, what, "give a duration such as 90s or 10m"))?;
            gate.budget.set(seconds, Origin::Cli("--budget".into()));
        }
        if let Some(rounds) = self.rounds {
            gate.rounds.set(rounds, Origin::Cli("--rounds".into()));
        }
        if let Some(way) = self.way {
            gate.way.set(way, Origin::Cli("--way".into()));
        }
        if let Some(controls) = self.controls {
            gate.controls.set(controls, Origin::Cli("--controls".into()));
        }
        Ok(())
    }
}

fn way(text: &str) -> std::result::Result<Way, String> {
    let words: Vec<&str> = Way::ALL.map(Way::word).to_vec();
    Way::ALL.into_iter().find(|way| way.word() == text).ok_or_else(|| match near(text, &words).first() {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("write one of {}", words.join(", ")),
    })
}
