//! Shards that take about as long as each other: how many there are, and the plan by which every job cuts the suite alike.

mod costs;

use crate::app::rounds::scheduler::rounded;
use crate::model::text::count;
use crate::model::{Exit, Fault, Result, Shard};
use crate::suite::plan::{ShardEstimate, ShardPlan};
use crate::suite::words::parse_seconds;

pub(crate) use costs::{MeasuredCosts, named, of_store};

/// `--balance`: by what a suite is cut.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Balance {
    /// Into a given number of shards.
    Cost,
    /// Into as many that none is expected to take longer than these seconds.
    Within(f64),
}

impl std::str::FromStr for Balance {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text {
            "cost" => Ok(Self::Cost),
            text => match parse_seconds(text) {
                Ok(seconds) if seconds > 0.0 => Ok(Self::Within(seconds)),
                _ => Err("write `cost`, or how long a shard may take: 20m".into()),
            },
        }
    }
}

/// A cut that every job repeats from `plan`.
#[derive(Debug)]
pub(crate) struct BalancedShards {
    pub plan: ShardPlan,
    pub estimate: ShardEstimate,
    /// For the user, one line each.
    pub notes: Vec<String>,
}

/// `shards`: how many, where [`Balance::Cost`] is asked for. `most`: the most there may be.
///
/// Errors: no number of shards keeps within the time; more shards than cases.
pub(crate) fn balanced(
    balance: Balance,
    shards: Option<u32>,
    most: u32,
    costs: MeasuredCosts,
) -> Result<BalancedShards> {
    let wholes = costs.wholes();
    let plan = costs.plan();
    let found = match (balance, shards) {
        (Balance::Within(_), Some(shards)) => {
            let next = "take one of the two out: `--balance cost --shards N`, or a time alone";
            return Err(Fault::at_flag(
                format!("--shards {shards}"),
                "a time decides how many there are",
                next,
            ));
        }
        (Balance::Within(seconds), None) => plan
            .fewest(&wholes, seconds, most)
            .map_err(|best| too_long(seconds, &costs, best, most, plan.start()))?,
        (Balance::Cost, shards) => plan.estimate(&wholes, shards.unwrap_or(1)),
    };
    if found.shards as usize > wholes.len() {
        let what = format!("there are more shards than cases: {}", count(wholes.len(), "case"));
        let next = "take fewer shards: a pair of baseline and optimized variants is one case";
        return Err(Fault::at_flag(format!("--shards {}", found.shards), what, next));
    }
    let mut notes = vec![format!(
        "{} of {}, by {}: the longest is expected to take {}, the mean {}",
        count(found.shards as usize, "shard"),
        count(costs.cases(), "case"),
        costs.sources(),
        rounded(found.longest),
        rounded(found.mean)
    )];
    let (name, longest) = costs.dearest();
    if found.shards > 1 && plan.start() + longest > 1.15 * found.mean {
        notes.push(format!(
            "{name} alone is expected to take {}: more shards cannot end sooner than it does",
            rounded(plan.start() + longest)
        ));
    }
    Ok(BalancedShards { plan, estimate: found, notes })
}

fn too_long(seconds: f64, costs: &MeasuredCosts, best: ShardEstimate, most: u32, start: f64) -> Fault {
    let (name, longest) = costs.dearest();
    let place = format!("--balance {}", rounded(seconds));
    let fault = |what: String, next: String| Fault::at_flag(place, what, &next).exits(Exit::Usage);
    if start + longest > seconds {
        let [alone, start] = [start + longest, start].map(rounded);
        let what = format!("{name} alone is expected to take {alone}, {start} of them to build and start");
        let next = format!(
            "allow at least {alone}, give the comparison a `--budget`, or divide the benchmark into more cases"
        );
        return fault(what, next);
    }
    let (shards, longest) = (best.shards, rounded(best.longest));
    let what =
        format!("of {shards} shards, the most that are possible, the longest is expected to take {longest}");
    let next = if best.shards == most {
        format!(
            "allow {longest}, or fewer machines in one matrix: GitHub runs at most {} jobs of one",
            Shard::MAX
        )
    } else {
        format!("allow {longest}: there are not more cases that can be dealt out")
    };
    fault(what, next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_balance_is_a_time_or_the_word_cost() {
        assert_eq!("cost".parse(), Ok(Balance::Cost));
        assert_eq!("20m".parse(), Ok(Balance::Within(1200.0)));
        for wrong in ["", "0", "-1m", "costs", "20 parsecs"] {
            assert!(wrong.parse::<Balance>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_no_number_of_shards_can_keep_is_refused_with_the_reason() {
        let costs = || MeasuredCosts::made_up(60.0, &[120.0, 120.0, 600.0, 120.0]);
        let of = |balance: &str, shards, most| balanced(balance.parse().unwrap(), shards, most, costs());
        let found = of("12m", None, 256).unwrap();
        assert_eq!((found.estimate.shards, found.estimate.longest), (2, 660.0));
        assert!(found.notes[1].contains("s/c2 alone is expected to take 11m"), "{:?}", found.notes);
        let alone = of("10m", None, 256).unwrap_err();
        assert_eq!(alone.exit, Exit::Usage);
        assert!(
            alone.what.contains("s/c2 alone is expected to take 11m") && alone.next.contains("11m"),
            "{alone}"
        );
        let few = of("12m", None, 1).unwrap_err();
        assert!(few.what.contains("of 1 shards") && few.next.contains("256 jobs"), "{few}");
        assert!(of("12m", Some(2), 256).unwrap_err().what.contains("a time decides"));
        assert!(of("cost", Some(5), 256).unwrap_err().what.contains("4 cases"));
        assert_eq!(of("cost", Some(3), 256).unwrap().estimate.shards, 3);
    }
}
