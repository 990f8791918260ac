//! Quantities of a suite file: durations, sizes, changes, clocks.

use toml::de::DeValue;

use super::item::Item;
use crate::settings::keep_runs::KeepRuns;
use crate::words::{
    check_power_limit, check_ratio, check_seconds, parse_margin, parse_memory_clock, parse_power_limit,
    parse_ratio, parse_seconds, parse_size,
};
use gbench_model::{ClockChoice, Margin};

impl Item<'_> {
    fn quantity<T>(
        &self,
        read: impl Fn(&str) -> Result<T, String>,
        check: impl Fn(f64) -> Result<T, String>,
        example: &str,
    ) -> Option<T> {
        let answer = match self.value {
            DeValue::String(text) => read(text),
            DeValue::Integer(_) | DeValue::Float(_) => check(self.number()?),
            _ => return self.wrong(example),
        };
        answer.map_err(|what| self.fault(format!("`{}`: {what}", self.key), format!("write {example}"))).ok()
    }

    /// Seconds of 0 or more.
    pub(crate) fn seconds(&self) -> Option<f64> {
        self.quantity(parse_seconds, check_seconds, "a duration such as \"90s\", \"1m 30s\" or \"500ms\"")
    }

    pub(crate) fn keep_runs(&self) -> Option<KeepRuns> {
        let text = match self.value {
            DeValue::String(text) => text.to_string(),
            DeValue::Integer(_) => self.integer()?.to_string(),
            _ => return self.wrong("a number of runs or an age such as \"30d\""),
        };
        text.parse().map_err(|what| self.fault(format!("`{}`: {what}", self.key), KeepRuns::FORMS)).ok()
    }

    /// Seconds above 0: a deadline of 0 would fail every process.
    pub(crate) fn deadline(&self) -> Option<f64> {
        let seconds = self.seconds()?;
        if seconds == 0.0 {
            return self.refuse(
                format!("`{}` allows no time at all", self.key),
                "write a duration above 0, such as \"90s\"",
            );
        }
        Some(seconds)
    }

    /// Bytes; 0 is allowed.
    pub(crate) fn bytes(&self) -> Option<u64> {
        let check = |number: f64| {
            if number >= 0.0 && number.fract() == 0.0 {
                Ok(number as u64)
            } else {
                Err(format!("{number} is not a number of bytes"))
            }
        };
        self.quantity(parse_size, check, "a size such as \"8 GiB\", \"512 MB\" or a number of bytes")
    }

    /// A relative change: `"5%"` or `0.05`.
    pub(crate) fn ratio(&self) -> Option<f64> {
        self.quantity(parse_ratio, check_ratio, "a change such as \"5%\" or 0.05")
    }

    /// An absolute difference: `"50 ns"`, `"64 KiB"`, or a number in the metric's own unit.
    pub(crate) fn margin(&self) -> Option<Margin> {
        let check = |value: f64| {
            if value > 0.0 {
                Ok(Margin { value, unit: String::new() })
            } else {
                Err(format!("{value} is not above 0"))
            }
        };
        self.quantity(parse_margin, check, "a difference such as \"50 ns\" or \"64 KiB\"")
    }

    /// `"base"`, `"max"`, `"off"`, or MHz: `1410`, `"1200-1410"`.
    pub(crate) fn clock(&self) -> Option<ClockChoice> {
        self.quantity(
            str::parse,
            ClockChoice::of_mhz,
            "\"base\", \"max\" or MHz, such as 1410 or \"1200-1410\"",
        )
    }

    pub(crate) fn memory_clock(&self) -> Option<ClockChoice> {
        self.quantity(parse_memory_clock, ClockChoice::of_mhz, "\"max\" or MHz, such as 2619")
    }

    /// Watts, or `"off"`.
    pub(crate) fn power_limit(&self) -> Option<Option<f64>> {
        self.quantity(parse_power_limit, check_power_limit, "\"off\" or watts, such as 250")
    }
}
