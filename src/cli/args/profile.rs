//! The flags about profilers.

use strum::IntoEnumIterator;

use crate::app::request::profile::ProfileRequest;
use crate::model::{MetricSet, Profiler, near};

/// Profilers, which run once all is measured.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Profilers")]
pub(crate) struct ProfileArgs {
    /// Profilers to run on cases after measuring: nsys, ncu, torch [default: `profilers` in [profile], else none]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = profiler)]
    profile: Vec<Profiler>,
    /// Set of metrics that ncu collects: minimal, roofline or deep [default: `metrics` in [profile], else minimal]
    #[arg(long, value_name = "SET", value_parser = metrics)]
    profile_metrics: Option<MetricSet>,
    /// Exit with code 5 before measuring if a profiler is missing, and with code 4 afterwards if profiling fails
    #[arg(long)]
    require_profilers: bool,
    /// Run no profiler, even if the suite file names one
    #[arg(long, conflicts_with_all = ["profile", "profile_metrics", "require_profilers"])]
    no_profile: bool,
}

impl ProfileArgs {
    pub(crate) fn request(&self) -> ProfileRequest {
        let mut named: Vec<Profiler> = Vec::new();
        for profiler in &self.profile {
            if !named.contains(profiler) {
                named.push(*profiler);
            }
        }
        let profilers = match (self.no_profile, named.is_empty()) {
            (true, _) => Some(Vec::new()),
            (false, true) => None,
            (false, false) => Some(named),
        };
        ProfileRequest { profilers, metrics: self.profile_metrics, required: self.require_profilers }
    }
}

/// A word of `--profile` where cases are measured, too.
fn profiler(text: &str) -> Result<Profiler, String> {
    match profiler_or_sanitizer(text)? {
        tool if tool.is_sanitizer() => {
            Err(format!("it measures nothing: use `gbench-ci profile --profile {text}`"))
        }
        profiler => Ok(profiler),
    }
}

/// A word of `--profile` of the command `profile`.
pub(crate) fn profiler_or_sanitizer(text: &str) -> Result<Profiler, String> {
    word(text)
}

/// The word of `--profile-metrics`.
pub(crate) fn metrics(text: &str) -> Result<MetricSet, String> {
    word(text)
}

fn word<T: IntoEnumIterator + Into<&'static str> + std::str::FromStr>(text: &str) -> Result<T, String> {
    let words: Vec<&str> = T::iter().map(Into::into).collect();
    text.parse().map_err(|_| match near(text, &words).first() {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("write one of {}", words.join(", ")),
    })
}
