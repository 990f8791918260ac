//! The difference between the device code of two sides.

use super::code::ArchCode;

/// Kernel names as in the code, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeDifference {
    /// Both sides run the same machine code: one architecture, at least one kernel, and no kernel changed, added or removed.
    /// Renamed kernels are allowed.
    pub identical: bool,
    /// Kernels of both sides with different code.
    pub changed: Vec<String>,
    /// Kernels of head that base lacks under any name.
    pub added: Vec<String>,
    /// Kernels of base that head lacks under any name.
    pub removed: Vec<String>,
    /// Kernels with another name and the same code, `(base, head)`. The name of a kernel in an unnamed namespace contains a
    /// hash of its source file.
    pub renamed: Vec<(String, String)>,
    pub same_arch: bool,
    /// True if one toolkit compiled both; `None` if a side's is unknown. Different toolkits make different code from the same
    /// source, so a change then shows nothing about the source.
    pub same_toolkit: Option<bool>,
}

pub fn difference(base: &ArchCode, head: &ArchCode) -> CodeDifference {
    let changed: Vec<String> = base
        .kernels
        .iter()
        .filter(|(name, code)| head.kernels.get(*name).is_some_and(|other| other.sha256 != code.sha256))
        .map(|(name, _)| name.clone())
        .collect();
    let mut added = only_in(head, base);
    let mut removed = Vec::new();
    let mut renamed = Vec::new();
    for name in only_in(base, head) {
        let code = base.kernels.get(name).map(|kernel| &kernel.sha256);
        let same = added.iter().position(|new| head.kernels.get(*new).map(|kernel| &kernel.sha256) == code);
        match same {
            Some(at) => renamed.push((name.clone(), added.remove(at).clone())),
            None => removed.push(name.clone()),
        }
    }
    let same_arch = base.arch == head.arch;
    let nothing = base.kernels.is_empty() || head.kernels.is_empty();
    CodeDifference {
        identical: same_arch && !nothing && changed.is_empty() && added.is_empty() && removed.is_empty(),
        changed,
        added: added.into_iter().cloned().collect(),
        removed,
        renamed,
        same_arch,
        same_toolkit: base.compiler.as_ref().zip(head.compiler.as_ref()).map(|(base, head)| base == head),
    }
}

fn only_in<'a>(one: &'a ArchCode, other: &ArchCode) -> Vec<&'a String> {
    one.kernels.keys().filter(|name| !other.kernels.contains_key(*name)).collect()
}
