//! How a suite is cut into shards by the time that its cases take.

use crate::app::shards::Balance;

#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct BalanceArgs {
    /// Cut the suite by the time that its cases took: `cost` into the given number of shards, or a time such as 20m into as
    /// many that none is expected to take longer
    #[arg(long, value_name = "cost|TIME")]
    pub balance: Option<Balance>,
    /// Where the times come from: a record, the folder of a run or of comparisons, or a store such as git:BRANCH; repeatable
    #[arg(long, value_name = "SOURCE", requires = "balance")]
    pub costs: Vec<String>,
}
