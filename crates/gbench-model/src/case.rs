//! A case: the subject of one verdict.

use std::collections::BTreeMap;
use std::fmt;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::id::BenchmarkId;
use super::text::natural::natural_path;

/// Parameter name to value, sorted by name so that two spellings of one point are one case.
pub type Params = BTreeMap<String, ParamValue>;

/// The whole identity of a case. Records are compared case by case, and only cases with equal identities: another problem
/// size, cold against warm, or a CPU fallback against a GPU are different cases, not a regression. Settings such as the
/// iterations do not belong to the identity: a case that asks for other ones stays one row, which a comparison refuses.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CaseId {
    pub benchmark: BenchmarkId,
    pub variant: Option<Variant>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub params: Params,
    pub timing: Timing,
    pub thermal: Thermal,
    /// The device that really ran, as the child named it (`cuda:NVIDIA H100`), else `host`.
    #[serde(default = "host")]
    pub device: String,
}

fn host() -> String {
    "host".into()
}

impl fmt::Display for CaseId {
    /// Writes `suite/name[dtype=fp16,n=1024] (cold, cuda:...)`; parts with their usual value are omitted.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.benchmark)?;
        if let Some(variant) = self.variant {
            write!(f, ":{}", variant.into_str())?;
        }
        if !self.params.is_empty() {
            let pairs: Vec<_> = self.params.iter().map(|(name, value)| format!("{name}={value}")).collect();
            write!(f, "[{}]", pairs.join(","))?;
        }
        let mut notes = Vec::new();
        if self.thermal == Thermal::Cold {
            notes.push("cold");
        }
        if self.device != "host" {
            notes.push(&self.device);
        }
        if notes.is_empty() { Ok(()) } else { write!(f, " ({})", notes.join(", ")) }
    }
}

/// A comparison gives this metric to the optimized case of a pair: how many times as fast as its baseline it is.
pub const SPEEDUP: &str = "speedup";

pub const SPEEDUP_UNIT: &str = "x";

/// The error that a metric reports for a result: a metric of the prefix `error.`, or one of result files.
pub fn error_of_result(metric: &str) -> Option<&str> {
    const OF_FILES: [&str; 3] = ["rmse", "relative_error", "max_error"];
    metric.strip_prefix("error.").or_else(|| OF_FILES.contains(&metric).then_some(metric))
}

/// The parameter that names a case's role in a pair if the case itself has no variant.
pub const VARIANT_PARAM: &str = "variant";

/// Parameters that distinguish the members of a pair and do not describe the problem.
const OF_A_MEMBER: [&str; 3] = [VARIANT_PARAM, "technique", "file"];

impl CaseId {
    /// The case's role in a pair: from its variant, else from the parameter of that name.
    pub fn member_of_pair(&self) -> Option<Variant> {
        let written = |value: &ParamValue| {
            [Variant::Baseline, Variant::Optimized]
                .into_iter()
                .find(|variant| value.is_written(variant.into_str()))
        };
        self.variant.or_else(|| self.params.get(VARIANT_PARAM).and_then(written))
    }

    /// The identity shared by all members of a pair; `None` for other cases.
    pub fn pair(&self) -> Option<CaseId> {
        self.member_of_pair()?;
        let mut params = self.params.clone();
        params.retain(|name, _| !OF_A_MEMBER.contains(&name.as_str()));
        Some(CaseId { variant: None, params, device: host(), ..self.clone() })
    }
}

/// A member of a baseline/optimized pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Variant {
    Baseline,
    Optimized,
}

/// Where the numbers come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Timing {
    /// The program speaks the child protocol and sends samples.
    Protocol,
    /// The gate times the whole process.
    Process,
    /// The gate extracts numbers from the program's stdout as declared.
    Stdout,
    /// A benchmark harness measures; the gate reads what it wrote.
    Harness,
}

/// Measured with warm or cold caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Thermal {
    Warm,
    Cold,
}

/// One parameter's value. `8` and `8.0` differ; text never needs quotes to differ from a number.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(untagged)]
pub enum ParamValue {
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
}

impl ParamValue {
    /// True if a text on the command line means this value: `0.50` means 0.5.
    pub fn is_written(&self, text: &str) -> bool {
        self.to_string() == text || self.number().is_some_and(|number| text.parse() == Ok(number))
    }

    /// The value as a number, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            ParamValue::Int(value) => Some(*value as f64),
            ParamValue::Float(value) => Some(*value),
            ParamValue::Bool(_) | ParamValue::Text(_) => None,
        }
    }

    /// The order for readers: numbers within texts are compared by value.
    pub fn natural_order(&self, other: &Self) -> std::cmp::Ordering {
        match (self, other) {
            (Self::Text(one), Self::Text(other)) => natural_path(one, other),
            _ => self.cmp(other),
        }
    }

    /// A total order over finite and non-finite values, so that maps of parameters can be keys.
    fn rank(&self) -> (u8, i64, &str) {
        match self {
            ParamValue::Bool(value) => (0, i64::from(*value), ""),
            ParamValue::Int(value) => (1, *value, ""),
            // With the bits of negatives flipped, integer order is numeric order.
            ParamValue::Float(value) => {
                let bits = value.to_bits() as i64;
                (2, bits ^ (((bits >> 63) as u64) >> 1) as i64, "")
            }
            ParamValue::Text(value) => (3, 0, value),
        }
    }
}

impl PartialEq for ParamValue {
    fn eq(&self, other: &Self) -> bool {
        self.rank() == other.rank()
    }
}
impl Eq for ParamValue {}
impl PartialOrd for ParamValue {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for ParamValue {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.rank().cmp(&other.rank())
    }
}
impl std::hash::Hash for ParamValue {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.rank().hash(state);
    }
}

impl fmt::Display for ParamValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParamValue::Bool(value) => write!(f, "{value}"),
            ParamValue::Int(value) => write!(f, "{value}"),
            ParamValue::Float(value) => write!(f, "{value:?}"),
            ParamValue::Text(value) => f.write_str(value),
        }
    }
}

/// The part of a system that a benchmark exercises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr, strum::EnumString, strum::EnumIter)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Component {
    Cpu,
    Gpu,
    Ram,
    Storage,
    Network,
    System,
}

/// How close a benchmark is to a user's work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr, strum::EnumIter)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Kind {
    #[default]
    Synthetic,
    Application,
    Domain,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_order_as_numbers_do() {
        let values = [-2.5, -1.0, 0.0, 1.0e-5, 3.0].map(ParamValue::Float);
        assert!(values.is_sorted());
        assert_ne!(ParamValue::Int(1), ParamValue::Float(1.0));
    }

    #[test]
    fn the_usual_parts_of_a_case_stay_unsaid() {
        let mut case = CaseId {
            benchmark: "s/gemm".parse().unwrap(),
            variant: None,
            params: Params::from([("n".into(), ParamValue::Int(8))]),
            timing: Timing::Protocol,
            thermal: Thermal::Warm,
            device: "host".into(),
        };
        assert_eq!(case.to_string(), "s/gemm[n=8]");
        case.thermal = Thermal::Cold;
        case.device = "cuda:H100".into();
        assert_eq!(case.to_string(), "s/gemm[n=8] (cold, cuda:H100)");
    }
}
