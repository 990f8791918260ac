//! The device code of base against head's: the same, another one, or not to be compared. It decides no verdict. A row
//! that changed shows the change of the code next to its figures, and rows whose code is the same show how much this
//! machine's figures differ without it.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use gbench_device_code::{self as read, difference};
use gbench_model::{CODE_FIGURES, CaseId, CaseRecord, DeviceCode, KernelCode, Side};

/// Changed kernels that are listed of a case.
const MAX_LISTED: usize = 100;

/// One case's device code on both sides.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CaseCode {
    pub case: CaseId,
    pub state: CodeState,
    /// Why it cannot be compared.
    pub why: Option<CodeGap>,
    pub base: Option<CodeSide>,
    pub head: Option<CodeSide>,
    /// Kernels that changed, that are gone and that are new: those first whose figures changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kernels: Vec<KernelChange>,
    /// Further ones that are not listed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: u32,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// The device code of a case, base against head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum CodeState {
    /// Every kernel is the same, instruction by instruction.
    Identical,
    Changed,
    /// Another compiler or architecture, or code of one side alone.
    NotComparable,
}

/// Why the code of a case cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(tag = "code", rename_all = "kebab-case", deny_unknown_fields)]
pub enum CodeGap {
    /// Only this side says what its code is.
    OneSide {
        side: Side,
    },
    OtherArchitecture {
        base: String,
        head: String,
    },
    OtherCompiler {
        base: String,
        head: String,
    },
    /// Processes of a side ran different code.
    Varies {
        base: bool,
        head: bool,
    },
}

/// One side's code in short.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CodeSide {
    pub arch: String,
    pub compiler: Option<String>,
    pub kernels: u32,
}

/// A kernel that is not the same on both sides.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct KernelChange {
    /// As the code has it, C++ names mangled.
    pub name: String,
    /// Absent: only head has it.
    pub base: Option<KernelCode>,
    /// Absent: only base has it.
    pub head: Option<KernelCode>,
}

/// How far the times of cases lie apart whose device code is the same: a sample of this machine's noise. It proves
/// nothing, since the host's code and the inputs may have changed, and decides nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CodeNoise {
    /// Rows of a time that were compared.
    pub rows: u32,
    /// Median and largest change, without its sign: 0.01 is 1 %.
    pub median: f64,
    pub largest: f64,
    /// The case of the largest.
    pub case: CaseId,
}

impl CaseCode {
    /// `None` where neither side says what its code is.
    pub(crate) fn of(case: &CaseId, base: &CaseRecord, head: &CaseRecord) -> Option<Self> {
        let side = |code: &DeviceCode| CodeSide {
            arch: code.arch.clone(),
            compiler: code.compiler.clone(),
            kernels: code.kernels.len() as u32,
        };
        let with_kernels = |code: &&DeviceCode| !code.kernels.is_empty();
        let [base_code, head_code] = [base, head].map(|case| case.device_code.as_ref().filter(with_kernels));
        let codes = (base_code, head_code);
        let varies = (base.device_code_varies, head.device_code_varies);
        let (why, mut kernels) = match codes {
            (None, None) => return None,
            (Some(_), None) => (Some(CodeGap::OneSide { side: Side::Base }), Vec::new()),
            (None, Some(_)) => (Some(CodeGap::OneSide { side: Side::Head }), Vec::new()),
            (Some(_), Some(_)) if varies.0 || varies.1 => {
                (Some(CodeGap::Varies { base: varies.0, head: varies.1 }), Vec::new())
            }
            (Some(base), Some(head)) => compared(base, head),
        };
        let state = match (&why, kernels.is_empty()) {
            (Some(_), _) => CodeState::NotComparable,
            (None, true) => CodeState::Identical,
            (None, false) => CodeState::Changed,
        };
        let more = kernels.len().saturating_sub(MAX_LISTED) as u32;
        kernels.truncate(MAX_LISTED);
        let (base, head) = (codes.0.map(side), codes.1.map(side));
        Some(Self { case: case.clone(), state, why, base, head, kernels, more })
    }

    /// All kernels that differ, also those that are not listed.
    pub fn differing(&self) -> usize {
        self.kernels.len() + self.more as usize
    }
}

fn as_read(code: &DeviceCode) -> read::ArchCode {
    let kernel = |(name, kernel): (&String, &KernelCode)| {
        (name.clone(), read::ArchKernel { sha256: kernel.sha256.clone(), ..read::ArchKernel::default() })
    };
    read::ArchCode {
        arch: code.arch.clone(),
        compiler: code.compiler.clone(),
        kernels: code.kernels.iter().map(kernel).collect(),
    }
}

fn compared(base: &DeviceCode, head: &DeviceCode) -> (Option<CodeGap>, Vec<KernelChange>) {
    let found = difference(&as_read(base), &as_read(head));
    if !found.same_arch {
        let (base, head) = (base.arch.clone(), head.arch.clone());
        return (Some(CodeGap::OtherArchitecture { base, head }), Vec::new());
    }
    // The same instructions are the same code, whatever compiler made them.
    if found.identical {
        return (None, Vec::new());
    }
    if let (Some(base), Some(head), Some(false)) = (&base.compiler, &head.compiler, found.same_toolkit) {
        let (base, head) = (base.clone(), head.clone());
        return (Some(CodeGap::OtherCompiler { base, head }), Vec::new());
    }
    let kernel = |code: &DeviceCode, name: &str| code.kernels.get(name).cloned();
    let names = found.changed.into_iter().chain(found.removed).chain(found.added);
    let change = |name: String| {
        let (base, head) = (kernel(base, &name), kernel(head, &name));
        KernelChange { name, base, head }
    };
    let mut kernels: Vec<KernelChange> = names.map(change).collect();
    kernels.sort_by_key(KernelChange::rank);
    (None, kernels)
}

impl KernelChange {
    fn rank(&self) -> u8 {
        match (&self.base, &self.head) {
            (Some(base), Some(head)) => {
                let changed = |(_, _, figure): &(_, _, fn(&KernelCode) -> Option<u64>)| {
                    figure(base).zip(figure(head)).is_some_and(|(base, head)| base != head)
                };
                u8::from(!CODE_FIGURES.iter().any(changed))
            }
            (Some(_), None) => 2,
            _ => 3,
        }
    }
}
