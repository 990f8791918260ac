//! The flags of `compare` that apply to some of its comparisons alone.

use CompareKind::{Commits, Fresh, Stored};

use crate::app::compare::target::{CompareTarget, RecordSides};
use crate::cli::args::GivenFlags;
use crate::model::{Fault, Result};

#[derive(Clone, Copy, PartialEq)]
enum CompareKind {
    Commits,
    /// A stored run and a fresh one.
    Fresh,
    /// Two stored runs, or result files of both sides.
    Stored,
}

struct FlagRule {
    /// Separated by blanks.
    flags: &'static str,
    kinds: &'static [CompareKind],
    what: &'static str,
    next: &'static str,
}

const BETWEEN_COMMITS: &str = "it has no meaning between commits";

const RULES: [FlagRule; 7] = [
    FlagRule {
        flags: "--budget --rounds --interleave --controls --order-seed --no-sandbox --resume \
                --suite-file --shard --shard-plan --launcher --shards --balance --costs --launcher-option --queue-wait",
        kinds: &[Commits],
        what: "it only applies when two commits are compared",
        next: "take it out, or name commits: `gbench-ci compare BASE..HEAD`",
    },
    FlagRule {
        flags: "--profile --profile-metrics --require-profilers",
        kinds: &[Commits],
        what: "a stored run cannot be profiled, and a verdict needs both sides",
        next: "compare commits: `gbench-ci compare BASE..HEAD`, or profile a fresh run: `gbench-ci profile CASE`",
    },
    FlagRule {
        flags: "--sessions",
        kinds: &[Fresh, Stored],
        what: BETWEEN_COMMITS,
        next: "it is about stored runs: take it out",
    },
    FlagRule {
        flags: "--anchor",
        kinds: &[Fresh, Stored],
        what: BETWEEN_COMMITS,
        next: "compare a stored run with it, or name its commit: `TAG..HEAD`",
    },
    FlagRule {
        flags: "--embed",
        kinds: &[Fresh, Stored],
        what: BETWEEN_COMMITS,
        next: "take it out: the records are kept in the comparison's folder",
    },
    FlagRule {
        flags: "--input-format --input-suite --unit --better --metric --parameters --rows --where --repeats",
        kinds: &[Stored],
        what: "it only applies when two result files are compared",
        next: "name both: `gbench-ci compare BASE HEAD`",
    },
    FlagRule {
        flags: "--processes --iterations --warmup --duration --burnin-seconds --cold-start \
                --timeout-multiplier --seed --preset --timing-mode --reproducible --check-determinism \
                --lock-sm-clock --lock-memory-clock --power-limit --artifacts --deadline --lock-wait --no-lock",
        kinds: &[Commits, Fresh],
        what: "it only applies when something is measured; two records are measured already",
        next: "take it out, or name the base alone to compare it with a fresh run",
    },
];

/// Errors: a flag that does not apply to this comparison.
pub(super) fn refuse_others(given: &GivenFlags, target: &CompareTarget) -> Result<()> {
    let kind = match target {
        CompareTarget::Commits(_) => Commits,
        CompareTarget::Records(RecordSides::Fresh(_)) => Fresh,
        CompareTarget::Records(_) => Stored,
    };
    let others = RULES.iter().filter(|rule| !rule.kinds.contains(&kind));
    let mut refused = others.flat_map(|rule| rule.flags.split(' ').map(move |flag| (rule, flag)));
    match refused.find(|(_, flag)| given.has(flag)) {
        Some((rule, flag)) => Err(Fault::at_flag(flag, rule.what, rule.next)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::{Args, Command, FromArgMatches};

    use super::*;
    use crate::cli::measuring::compare::CompareArgs;

    fn command() -> Command {
        CompareArgs::augment_args(Command::new("compare"))
    }

    #[test]
    fn every_rule_names_flags_that_exist() {
        let command = command();
        // `GivenFlags` goes by the ids of the arguments.
        let known: BTreeSet<String> = command
            .get_arguments()
            .filter(|it| it.get_long() == Some(&it.get_id().as_str().replace('_', "-")))
            .filter_map(|it| Some(format!("--{}", it.get_long()?)))
            .collect();
        for flag in RULES.iter().flat_map(|rule| rule.flags.split(' ')) {
            assert!(known.contains(flag), "{flag}");
        }
    }

    #[test]
    fn a_flag_of_another_comparison_is_refused() {
        let files = CompareTarget::Records(RecordSides::Files([Vec::new(), Vec::new()]));
        let fresh = CompareTarget::Records(RecordSides::Fresh("main".into()));
        let commits = CompareTarget::Commits(None);
        for (line, target, refused) in [
            ("--budget 10m", &files, true),
            ("--budget 10m", &commits, false),
            ("--where a=b --metric t=ms", &commits, true),
            ("--where a=b --metric t=ms", &files, false),
            ("--input-format nccl_tests", &fresh, true),
            ("--no-lock", &files, true),
            ("--no-lock", &fresh, false),
            ("--embed", &commits, true),
            ("a b", &files, false),
        ] {
            let matches = command().get_matches_from(std::iter::once("compare").chain(line.split(' ')));
            let args = CompareArgs::from_arg_matches(&matches).unwrap();
            assert_eq!(refuse_others(&args.given, target).is_err(), refused, "{line}");
        }
    }

    #[test]
    fn files_of_one_side_and_words_are_not_mixed() {
        let mixed = command().try_get_matches_from(["compare", "b.log", "--head", "h.log"]);
        let error = mixed.unwrap_err().to_string();
        assert!(error.contains("cannot be used with"), "{error}");
    }
}
