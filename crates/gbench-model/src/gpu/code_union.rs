//! Joins several pieces of device code, from several events of a program or several files.

use std::collections::{BTreeMap, BTreeSet};

use super::device_code::{DeviceCode, KernelCode};
use crate::hash::sha256_hex;

/// The most kernels listed by name; the others share one entry, `OTHER_KERNELS`.
pub const MAX_KERNELS: usize = 1000;

/// The most bytes of these kernels' names, because a record contains them once per case.
const MAX_NAMES: usize = 256 << 10;

/// The entry of all kernels without their own: their hashes combined, and the largest of each figure.
pub(crate) const OTHER_KERNELS: &str = "(others)";

/// A figure of a kernel: its metric's name, its unit, and its getter.
pub type CodeFigure = (&'static str, &'static str, fn(&KernelCode) -> Option<u64>);

/// Resources that a kernel uses; each is a metric of the case.
pub const CODE_FIGURES: [CodeFigure; 4] = [
    ("code.registers", "", |kernel| kernel.registers.map(u64::from)),
    ("code.shared_bytes", "B", |kernel| kernel.shared_bytes),
    ("code.frame_bytes", "B", |kernel| kernel.frame_bytes),
    ("code.spill_bytes", "B", KernelCode::spill_bytes),
];

impl KernelCode {
    /// Bytes that a thread stores and loads because registers ran out.
    pub fn spill_bytes(&self) -> Option<u64> {
        match (self.spill_store_bytes, self.spill_load_bytes) {
            (None, None) => None,
            (store, load) => Some(store.unwrap_or(0).saturating_add(load.unwrap_or(0))),
        }
    }

    /// Several kernels as one: its hash changes with any of them, in any order; each figure is the largest.
    fn all_of<'k>(kernels: impl Iterator<Item = &'k Self>) -> Self {
        let mut hashes = BTreeSet::new();
        let mut all = Self::default();
        for kernel in kernels {
            hashes.insert(kernel.sha256.as_str());
            all.registers = all.registers.max(kernel.registers);
            all.shared_bytes = all.shared_bytes.max(kernel.shared_bytes);
            all.frame_bytes = all.frame_bytes.max(kernel.frame_bytes);
            all.spill_store_bytes = all.spill_store_bytes.max(kernel.spill_store_bytes);
            all.spill_load_bytes = all.spill_load_bytes.max(kernel.spill_load_bytes);
        }
        let hashes: Vec<&str> = hashes.into_iter().collect();
        all.sha256 = match hashes.as_slice() {
            [only] => (*only).to_owned(),
            several => sha256_hex(several.join("\n").as_bytes()),
        };
        all
    }
}

impl DeviceCode {
    /// Joins all of them; `None` if there is no kernel. Kernels with the same name share one entry. With several
    /// architectures, the architecture precedes each name, as in `sm_80:saxpy`.
    pub fn union(codes: impl IntoIterator<Item = Self>) -> Option<Self> {
        let codes: Vec<Self> = codes.into_iter().filter(|code| !code.kernels.is_empty()).collect();
        let distinct = |texts: BTreeSet<&str>| texts.into_iter().collect::<Vec<_>>().join(", ");
        let archs: BTreeSet<&str> = codes.iter().map(|code| code.arch.as_str()).collect();
        let several = archs.len() > 1;
        let arch = distinct(archs);
        let compiler = distinct(codes.iter().filter_map(|code| code.compiler.as_deref()).collect());
        let mut by_name: BTreeMap<String, Vec<KernelCode>> = BTreeMap::new();
        for code in codes {
            for (name, kernel) in code.kernels {
                let name = if several { format!("{}:{name}", code.arch) } else { name };
                by_name.entry(name).or_default().push(kernel);
            }
        }
        let merged = by_name.into_iter().map(|(name, all)| (name, KernelCode::all_of(all.iter())));
        let kernels = bounded(merged.collect());
        let compiler = (!compiler.is_empty()).then_some(compiler);
        (!kernels.is_empty()).then_some(Self { arch, compiler, kernels })
    }

    /// True if both have the same architecture and the same kernels with the same hashes.
    pub fn is_same(&self, other: &Self) -> bool {
        let hashes = |code: &Self| -> Vec<(String, String)> {
            code.kernels.iter().map(|(name, kernel)| (name.clone(), kernel.sha256.clone())).collect()
        };
        self.arch == other.arch && hashes(self) == hashes(other)
    }

    /// Kernels that only one of the two has, or that differ.
    pub fn differing<'c>(&'c self, other: &'c Self) -> BTreeSet<&'c str> {
        let hash = |code: &'c Self, name: &str| code.kernels.get(name).map(|kernel| kernel.sha256.as_str());
        let names = self.kernels.keys().chain(other.kernels.keys()).map(String::as_str);
        names.filter(|name| hash(self, name) != hash(other, name)).collect()
    }

    /// The largest figure of any kernel; `None` if any kernel's figure is unknown.
    pub fn largest(&self, figure: fn(&KernelCode) -> Option<u64>) -> Option<u64> {
        self.kernels.values().filter_map(figure).max()
    }
}

/// At most [`MAX_KERNELS`] kernels: the first by name, and all others as one.
fn bounded(mut kernels: BTreeMap<String, KernelCode>) -> BTreeMap<String, KernelCode> {
    let mut bytes = 0;
    let kept = kernels.keys().take(MAX_KERNELS).take_while(|name| {
        bytes += name.len();
        bytes <= MAX_NAMES
    });
    let kept = kept.count();
    let Some(first_left) = kernels.keys().nth(kept).cloned() else { return kernels };
    let others = kernels.split_off(&first_left);
    kernels.insert(OTHER_KERNELS.to_owned(), KernelCode::all_of(others.values()));
    kernels
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(arch: &str, kernels: &[(&str, &str, u32)]) -> DeviceCode {
        let kernel = |(name, hash, registers): &(&str, &str, u32)| {
            let code =
                KernelCode { sha256: hash.repeat(64), registers: Some(*registers), ..KernelCode::default() };
            ((*name).to_owned(), code)
        };
        DeviceCode { arch: arch.into(), compiler: None, kernels: kernels.iter().map(kernel).collect() }
    }

    #[test]
    fn what_several_pieces_hold_is_one_whatever_their_order() {
        let (one, other) = (code("sm_90", &[("f", "1", 8), ("g", "2", 9)]), code("sm_90", &[("f", "3", 40)]));
        let union = DeviceCode::union([one.clone(), other.clone()]).unwrap();
        assert_eq!(DeviceCode::union([other, one.clone()]).as_ref(), Some(&union));
        assert_eq!(union.kernels["g"], one.kernels["g"]);
        assert_eq!((union.kernels["f"].registers, union.kernels["f"].sha256.len()), (Some(40), 64));
        assert_ne!(union.kernels["f"].sha256, one.kernels["f"].sha256);
        assert_eq!(union.largest(CODE_FIGURES[0].2), Some(40));
        assert_eq!(DeviceCode::union([one.clone(), one.clone()]), Some(one));
        assert_eq!(DeviceCode::union([code("sm_90", &[])]), None);
    }

    #[test]
    fn kernels_of_several_architectures_stay_apart() {
        let union = DeviceCode::union([code("sm_80", &[("f", "1", 8)]), code("sm_90", &[("f", "2", 9)])]);
        let union = union.unwrap();
        assert_eq!(union.arch, "sm_80, sm_90");
        assert_eq!(union.kernels.keys().collect::<Vec<_>>(), ["sm_80:f", "sm_90:f"]);
    }

    #[test]
    fn a_flood_of_kernels_is_bounded_and_any_change_in_it_is_seen() {
        let flood = |hash: &str| {
            let mut code = code("sm_90", &[]);
            for index in 0..5000 {
                let sha256 = if index == 4321 { hash.repeat(64) } else { format!("{index:064}") };
                code.kernels.insert(format!("k{index:04}"), KernelCode { sha256, ..KernelCode::default() });
            }
            DeviceCode::union([code]).unwrap()
        };
        let (one, other) = (flood("a"), flood("b"));
        assert_eq!(one.kernels.len(), MAX_KERNELS + 1);
        assert!(!one.is_same(&other) && one.is_same(&flood("a")));
        assert_eq!(one.differing(&other), BTreeSet::from([OTHER_KERNELS]));
        let long = (0..1000).map(|index| (format!("{index:04000}"), KernelCode::default())).collect();
        let long = DeviceCode { arch: "sm_90".into(), compiler: None, kernels: long };
        assert_eq!(DeviceCode::union([long]).unwrap().kernels.len(), MAX_NAMES / 4000 + 1);
    }

    #[test]
    fn what_is_spilled_is_stored_and_loaded() {
        let kernel = |store, load| KernelCode {
            spill_store_bytes: store,
            spill_load_bytes: load,
            ..Default::default()
        };
        assert_eq!(kernel(Some(520), Some(524)).spill_bytes(), Some(1044));
        assert_eq!(kernel(Some(0), None).spill_bytes(), Some(0));
        assert_eq!(kernel(None, None).spill_bytes(), None);
    }
}
