//! Samples during a row, in words.

use crate::verdict::document::{RowTelemetry, SideTelemetry, TelemetryRemark};
use gbench_model::text::{count, percent};

impl RowTelemetry {
    /// The findings that may explain a row, each as a part of a sentence.
    pub fn sentences(&self) -> Vec<String> {
        self.remarks.iter().map(|remark| self.sentence(remark)).collect()
    }

    fn sentence(&self, remark: &TelemetryRemark) -> String {
        let both = |base: u32, head: u32| {
            let of = |side: &SideTelemetry| count(side.processes as usize, "process");
            format!("in {base} of {} on base and {head} of {} on head", of(&self.base), of(&self.head))
        };
        match remark {
            TelemetryRemark::LowerClock { side, share, base_mhz, head_mhz } => format!(
                "the GPU's clock was {} lower on {} ({base_mhz:.0} MHz on base, {head_mhz:.0} MHz on head)",
                percent(*share),
                side.into_str()
            ),
            TelemetryRemark::PowerCap { base, head } => {
                format!("the GPU reached its power limit {}", both(*base, *head))
            }
            TelemetryRemark::OtherProcess { gpu, process, base, head } => {
                format!("{process} of another user was on GPU {gpu} {}", both(*base, *head))
            }
            TelemetryRemark::NotCalm { base, head } => {
                format!("the GPU was not idle before the process began {}", both(*base, *head))
            }
            TelemetryRemark::NarrowLink { link, base, head } => {
                format!("the GPU's PCIe link was {link} {}", both(*base, *head))
            }
            TelemetryRemark::Gaps { base, head } => {
                format!("a GPU did not answer when it was sampled {}", both(*base, *head))
            }
        }
    }
}
