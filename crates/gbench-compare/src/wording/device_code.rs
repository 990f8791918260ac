//! Device code in words: kernels that changed, why code cannot be compared, and the noise of what is the same.

use std::fmt;

use crate::remarks::device_code::{CaseCode, CodeGap, CodeNoise, CodeState, KernelChange};
use gbench_device_code::display_name;
use gbench_model::text::{count, grouped, percent};
use gbench_model::{KernelCode, Side};

const MAX_NAMED: usize = 3;

/// A figure of a kernel: how it is called, its unit, how to get it.
type Figure = (&'static str, &'static str, fn(&KernelCode) -> Option<u64>);

const REGISTERS: Figure = ("registers", "", |kernel| kernel.registers.map(u64::from));
const MEMORY: [Figure; 3] = [
    ("shared", " B", |kernel| kernel.shared_bytes),
    ("frame", " B", |kernel| kernel.frame_bytes),
    ("spilled", " B", KernelCode::spill_bytes),
];

impl KernelChange {
    /// The name as its author wrote it; a long one is shortened in the middle.
    pub fn shown_name(&self) -> String {
        const LONGEST: usize = 120;
        let name = display_name(&self.name);
        let letters: Vec<char> = name.chars().collect();
        if letters.len() <= LONGEST {
            return name;
        }
        let part = |letters: &[char]| letters.iter().collect::<String>();
        let half = LONGEST / 2;
        format!("{}...{}", part(&letters[..half]), part(&letters[letters.len() - half..]))
    }

    /// `changed`, `gone`, `new`.
    pub fn word(&self) -> &'static str {
        match (&self.base, &self.head) {
            (Some(_), Some(_)) => "changed",
            (Some(_), None) => "gone",
            _ => "new",
        }
    }

    /// Registers, shared memory, frame and spilled bytes: `16 -> 40`, `16` where it is the same, empty where it is not
    /// known.
    pub fn figures(&self) -> [String; 4] {
        let [shared, frame, spilled] = MEMORY;
        [REGISTERS, shared, frame, spilled]
            .map(|figure| self.figure(figure).map(|it| it.0).unwrap_or_default())
    }

    fn figure(&self, (_, unit, of): Figure) -> Option<(String, bool)> {
        let value = |side: &Option<KernelCode>| side.as_ref().and_then(of);
        let text = |value: u64| format!("{}{unit}", grouped(value));
        match (value(&self.base), value(&self.head)) {
            (Some(base), Some(head)) if base != head => {
                Some((format!("{} -> {}", text(base), text(head)), true))
            }
            (Some(value), Some(_)) => Some((text(value), false)),
            // A kernel of one side alone shows its figure; where one side's figure is not known, there is no remark.
            (Some(value), None) if self.head.is_none() => Some((text(value), true)),
            (None, Some(value)) if self.base.is_none() => Some((text(value), true)),
            _ => None,
        }
    }
}

/// `saxpy: registers 16 -> 40, spilled 0 B -> 1,040 B`.
impl fmt::Display for KernelChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = Some(self.word()).filter(|word| *word != "changed");
        let kind = kind.map_or(String::new(), |word| format!(" ({word})"));
        write!(f, "{}{kind}", self.shown_name())?;
        let registers = self.figure(REGISTERS).map(|(text, _)| format!("{} {text}", REGISTERS.0));
        let memory = MEMORY.into_iter().filter_map(|figure| {
            let (text, differs) = self.figure(figure)?;
            (differs && text != "0 B").then(|| format!("{} {text}", figure.0))
        });
        let told: Vec<String> = registers.into_iter().chain(memory).collect();
        match (told.is_empty(), kind.as_str()) {
            (true, "") => write!(f, ": other instructions"),
            (true, _) => Ok(()),
            (false, _) => write!(f, ": {}", told.join(", ")),
        }
    }
}

impl fmt::Display for CodeGap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OneSide { side } => write!(f, "only {} says what its device code is", side.into_str()),
            Self::OtherArchitecture { base, head } => {
                write!(f, "it is for {base} on base and for {head} on head")
            }
            Self::OtherCompiler { base, head } => {
                write!(f, "it was compiled by {base} on base and by {head} on head")
            }
            Self::Varies { base: true, head: true } => {
                f.write_str("processes of each side ran different code")
            }
            Self::Varies { base, .. } => {
                let side = if *base { Side::Base } else { Side::Head };
                write!(f, "processes of {} ran different code", side.into_str())
            }
        }
    }
}

impl CaseCode {
    pub(crate) fn remark(&self) -> Option<String> {
        match self.state {
            CodeState::Identical => Some(
                "its device code is the same on both sides, so look at the host code, the inputs or the machine"
                    .to_owned(),
            ),
            CodeState::Changed => Some(format!("its device code changed: {}", self.told(MAX_NAMED))),
            CodeState::NotComparable => None,
        }
    }

    /// The kernels that differ, at most so many of them by name.
    pub fn told(&self, most: usize) -> String {
        let mut told: Vec<String> = self.kernels.iter().take(most).map(ToString::to_string).collect();
        let more = self.differing().saturating_sub(told.len());
        told.extend((more > 0).then(|| format!("{more} more")));
        told.join("; ")
    }
}

impl CodeNoise {
    /// A description without a period.
    pub fn sentence(&self) -> String {
        format!(
            "the times of {} with identical device code lie {} from base in the median and {} at most: a sample of this \
             machine's noise, and no proof",
            count(self.rows as usize, "row"),
            percent(self.median),
            percent(self.largest),
        )
    }
}
