//! A case of a request to the Python driver, with the names of the driver's JSON.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;

/// How a benchmark is called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr, strum::EnumString, strum::EnumIter)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum CallWay {
    /// `get_benchmark()`, or a class with `benchmark_fn`.
    #[default]
    Class,
    /// A function that is called with `params` and timed.
    Function,
    /// A function that returns its own time.
    SelfTimed,
    /// A function that measures a list of points and returns a row for each.
    Sweep,
    /// Nothing is called: the benchmark's description cannot be read, and the case fails with `message`.
    Fault,
}

/// One case of the driver's request. Empty fields are omitted from the JSON.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PythonCall {
    pub way: CallWay,
    /// From the tree.
    pub file: String,
    pub class: Option<String>,
    pub function: Option<String>,
    /// Keyword arguments, with their types in the file.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub params: BTreeMap<String, Value>,
    /// The unit of the time that the function returns: `ms`.
    pub unit: Option<String>,
    pub precision: Option<String>,
    pub backend: Option<String>,
    /// `precision` is the first in the file: the kernel's own.
    #[serde(default, skip_serializing_if = "is_false")]
    pub first_precision: bool,
    /// `backend` is the first in the file.
    #[serde(default, skip_serializing_if = "is_false")]
    pub first_backend: bool,
    /// Greatest `rmse`, `relative_error` and `max_error` against the reference.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tolerances: BTreeMap<String, f64>,
    /// The tolerances apply to all kernels of a folder: they have no effect on one without a reference.
    #[serde(default, skip_serializing_if = "is_false")]
    pub shared_tolerances: bool,
    /// The function of the module, or the file of the tree, that computes the right result.
    pub reference: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skip_conditions: Vec<SkipCondition>,
    #[serde(default, skip_serializing_if = "CallWork::is_empty")]
    pub work: CallWork,
    /// Measured calls, warm-up calls and the seed in `bench.yaml`; the command line overrides them.
    pub iterations: Option<u64>,
    pub warmup: Option<u64>,
    pub seed: Option<u64>,
    /// The fault and its place, for [`CallWay::Fault`].
    pub message: Option<String>,
}

impl PythonCall {
    pub fn new(way: CallWay, file: &str) -> Self {
        Self { way, file: file.to_owned(), ..Self::default() }
    }
}

fn is_false(value: &bool) -> bool {
    !value
}

/// When a case is skipped. An absent field matches any value.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkipCondition {
    pub backend: Option<String>,
    pub precision: Option<String>,
    /// A Python expression; the case is skipped if it is true. Only the driver evaluates it.
    pub check: Option<String>,
    /// The reason in the report.
    pub reason: Option<String>,
}

/// The work of one call.
#[skip_serializing_none]
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CallWork {
    pub items: Option<f64>,
    pub bytes: Option<f64>,
    pub flops: Option<f64>,
    pub tokens: Option<f64>,
}

impl CallWork {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
