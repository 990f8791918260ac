//! The time limit for the rounds of one call.

use serde::{Deserialize, Serialize};

/// Seconds for the rounds of one call, if they are limited. A record contains the seconds, or nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Budget(Option<f64>);

impl Budget {
    /// Until everything is decided.
    pub const UNLIMITED: Self = Self(None);

    /// From the suite file or the flag: 0 means no limit.
    pub fn from_seconds(seconds: f64) -> Self {
        Self(Some(seconds).filter(|seconds| *seconds > 0.0))
    }

    /// `None` without a limit.
    pub fn seconds(self) -> Option<f64> {
        self.0
    }

    pub fn is_unlimited(&self) -> bool {
        self.0.is_none()
    }

    /// The seconds left after `used`; `None` without a limit.
    pub fn left(self, used: f64) -> Option<f64> {
        self.0.map(|seconds| (seconds - used).max(0.0))
    }

    /// True if `more` seconds fit after `used`.
    pub fn has_room(self, used: f64, more: f64) -> bool {
        self.0.is_none_or(|seconds| used + more <= seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_seconds_are_no_limit_and_a_limit_is_kept_to_the_end() {
        assert!(Budget::from_seconds(0.0).is_unlimited() && Budget::UNLIMITED.has_room(1e9, 1e9));
        let budget = Budget::from_seconds(10.0);
        assert!(budget.has_room(4.0, 6.0) && !budget.has_room(4.0, 6.1));
        assert_eq!((budget.left(4.0), budget.left(11.0)), (Some(6.0), Some(0.0)));
        assert_eq!(Budget::UNLIMITED.left(4.0), None);
    }
}
