//! Whole files, as real tools write them: `fixtures/gpu/code` says which.

use std::{collections::BTreeMap, path::PathBuf};

use super::{ArchCode, CodeError, difference, read};

const KERNELS: [&str; 5] =
    ["_Z5saxpyifPKfPf", "_Z6dividePKiPf", "_Z6seededPf", "_Z8mirroredIfLi512EEvPT_", "spiller"];

fn bytes(name: &str) -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/gpu/code");
    std::fs::read(PathBuf::from(folder).join(name)).unwrap()
}

fn code(name: &str) -> ArchCode {
    let mut all = read(&bytes(name)).unwrap();
    assert_eq!(all.len(), 1, "{name}");
    all.remove(0)
}

/// Of the kernels that both have.
fn changed(one: &str, other: &str) -> Vec<String> {
    difference(&code(one), &code(other)).changed
}

#[test]
fn line_information_and_names_of_files_are_no_part_of_the_code() {
    for other in ["lineinfo.fatbin", "lineinfo_other_name.fatbin"] {
        assert_ne!(bytes("base.cubin"), bytes(other));
        assert!(difference(&code("base.cubin"), &code(other)).identical, "{other}");
    }
}

#[test]
fn the_tool_of_one_toolkit_does_not_matter() {
    for other in ["ptxas.fatbin", "nvcc.fatbin"] {
        let found = difference(&code("base.cubin"), &code(other));
        assert!(found.identical, "{other}");
        assert_eq!(found.same_toolkit, Some(true), "{other}");
    }
}

#[test]
fn a_kernel_before_it_leaves_a_kernel_as_it_is() {
    let found = difference(&code("base.cubin"), &code("another_before.fatbin"));
    assert_eq!((found.changed, found.removed), (vec![], vec![]));
    assert_eq!(found.added, ["_Z7anotherPi"]);
    assert_eq!(changed("calls.fatbin", "calls_another_before.fatbin"), [""; 0]);
}

#[test]
fn only_the_kernel_that_is_edited_changes() {
    assert_eq!(changed("base.cubin", "edited.fatbin"), [KERNELS[0]]);
}

#[test]
fn a_cap_on_registers_changes_the_kernel_that_gets_others() {
    let (base, capped) = (code("base.cubin"), code("maxrregcount.fatbin"));
    assert_eq!(difference(&base, &capped).changed, [KERNELS[1]]);
    assert_eq!(
        (base.kernels[KERNELS[1]].registers, capped.kernels[KERNELS[1]].registers),
        (Some(16), Some(15))
    );
}

#[test]
fn fast_math_changes_the_kernels_that_calculate() {
    assert_eq!(changed("base.cubin", "fast_math.fatbin"), [KERNELS[0], KERNELS[1], KERNELS[2], KERNELS[4]]);
}

#[test]
fn without_optimisation_all_kernels_change() {
    assert_eq!(changed("base.cubin", "debug.fatbin"), KERNELS);
}

/// Even a toolkit two years younger may make the very same code: here of the kernel that only moves data.
#[test]
fn another_toolkit_makes_other_code() {
    let found = difference(&code("base_12.9.cubin"), &code("base.cubin"));
    assert_eq!(found.changed, [KERNELS[0], KERNELS[1], KERNELS[2], KERNELS[4]]);
    assert_eq!(found.same_toolkit, Some(false));
}

#[test]
fn a_constant_changes_the_kernel_that_reads_it() {
    assert_eq!(changed("base.cubin", "other_table.fatbin"), [KERNELS[1]]);
}

#[test]
fn what_a_kernel_reaches_through_a_table_or_prints_belongs_to_it() {
    assert_eq!(changed("calls.fatbin", "calls_edited.fatbin"), ["_Z13through_tablePfi"]);
    assert_eq!(changed("calls.fatbin", "calls_other_text.fatbin"), ["_Z5printPf"]);
}

#[test]
fn a_kernel_named_after_its_file_is_the_same_under_another_name() {
    let found = difference(&code("unnamed.fatbin"), &code("unnamed_renamed.fatbin"));
    assert!(found.identical);
    assert_eq!(found.renamed.len(), 1);
}

/// What a line of `cuobjdump -res-usage` says of a kernel, by architecture and name.
fn res_usage(text: &str) -> BTreeMap<(String, String), (u32, u64, u64)> {
    let (mut arch, mut function, mut all) = (String::new(), String::new(), BTreeMap::new());
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix("arch = ") {
            arch = name.into();
        } else if let Some(name) = line.strip_prefix("Function ") {
            function = name.trim_end_matches(':').into();
        } else if line.starts_with("REG:") {
            let figure = |what: &str| {
                line.split(' ').find_map(|word| word.strip_prefix(what)?.strip_prefix(':')).unwrap()
            };
            let figures = (
                figure("REG").parse().unwrap(),
                figure("STACK").parse().unwrap(),
                figure("SHARED").parse().unwrap(),
            );
            all.insert((arch.clone(), function.clone()), figures);
        }
    }
    all
}

#[test]
fn registers_stack_and_shared_memory_are_those_that_cuobjdump_says() {
    for version in ["12.9", "13.5"] {
        let said = res_usage(&String::from_utf8(bytes(&format!("nvrtc_{version}.res-usage.txt"))).unwrap());
        assert_eq!(said.len(), 4 * KERNELS.len());
        let mut read_here = BTreeMap::new();
        for code in read(&bytes(&format!("nvrtc_{version}.fatbin"))).unwrap() {
            for (name, kernel) in code.kernels {
                let figures =
                    (kernel.registers.unwrap(), kernel.frame_bytes.unwrap(), kernel.shared_bytes.unwrap());
                read_here.insert((code.arch.clone(), name), figures);
            }
        }
        assert_eq!(read_here, said, "{version}");
    }
}

#[test]
fn the_toolkit_stands_beside_the_code() {
    assert_eq!(code("base.cubin").compiler.as_deref(), Some("CUDA 13.5.37"));
    assert_eq!(code("base_12.9.cubin").compiler.as_deref(), Some("CUDA 12.9"));
    assert_eq!(code("calls.fatbin").compiler.as_deref(), Some("CUDA 13.5.37"));
}

#[test]
fn a_fatbin_holds_the_same_however_it_is_packed() {
    let plain = read(&bytes("pair_plain.fatbin")).unwrap();
    let archs: Vec<_> = plain.iter().map(|code| code.arch.as_str()).collect();
    assert_eq!(archs, ["sm_75", "sm_90"]);
    assert!(plain.iter().all(|code| code.kernels.keys().eq(["_Z5scalePff", "count"])));
    for packed in ["pair_zstd.fatbin", "pair_lz4.fatbin", "pair_concat.fatbin", "pair.o"] {
        assert_eq!(read(&bytes(packed)).unwrap(), plain, "{packed}");
    }
}

#[test]
fn all_fatbins_of_a_program_are_read_and_merged_by_architecture() {
    let all = read(&bytes("two.o")).unwrap();
    let counts: Vec<_> = all.iter().map(|code| (code.arch.as_str(), code.kernels.len())).collect();
    assert_eq!(counts, [("sm_75", 2), ("sm_90", 3)]);
}

#[test]
fn different_code_under_one_name_gives_one_hash_whatever_comes_first() {
    let joined = |names: [&str; 3]| {
        let all: Vec<u8> = names.into_iter().flat_map(bytes).collect();
        read(&all).unwrap().remove(0)
    };
    let one = joined(["ptxas.fatbin", "edited.fatbin", "maxrregcount.fatbin"]);
    assert_eq!(one, joined(["maxrregcount.fatbin", "ptxas.fatbin", "edited.fatbin"]));
    let found = difference(&code("base.cubin"), &one);
    assert_eq!(found.changed, [KERNELS[0], KERNELS[1]]);
    assert_eq!(one.kernels[KERNELS[1]].registers, Some(16));
}

#[test]
fn what_says_nothing_of_the_code_is_an_error() {
    for (name, error) in [
        ("pair_ptx.fatbin", CodeError::OnlyPtx),
        ("pair_to_link.cubin", CodeError::Relocatable),
        ("pair_to_link.o", CodeError::Relocatable),
        ("kernels.cu", CodeError::NotDeviceCode),
    ] {
        assert_eq!(read(&bytes(name)), Err(error), "{name}");
    }
    assert_eq!(read(b""), Err(CodeError::NotDeviceCode));
    assert_eq!(read(b"//\n// Generated by NVIDIA NVVM Compiler\n"), Err(CodeError::OnlyPtx));
    let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    assert_eq!(read(&program), Err(CodeError::NoDeviceCode));
}

#[test]
fn an_entry_that_does_not_unpack_says_how_to_compile() {
    for name in ["pair_zstd.fatbin", "pair_lz4.fatbin"] {
        let mut damaged = bytes(name);
        // Behind the fatbin's header and the first entry's.
        damaged[16 + 64 + 100..16 + 64 + 400].fill(0xff);
        let error = read(&damaged).unwrap_err();
        assert_eq!(error, CodeError::Packed { arch: 75 }, "{name}");
        assert!(error.to_string().contains("--no-compress"));
    }
}

#[test]
fn a_size_that_a_file_only_claims_is_not_reserved() {
    let mut claims = bytes("pair_lz4.fatbin");
    claims[16 + 56..16 + 64].copy_from_slice(&(200u64 << 20).to_le_bytes());
    assert_eq!(read(&claims), Err(CodeError::Packed { arch: 75 }));
    claims[16 + 56..16 + 64].copy_from_slice(&u64::MAX.to_le_bytes());
    assert_eq!(read(&claims), Err(CodeError::TooLarge));
}

/// Xorshift: the same mutations every time.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

/// Changes one to eight places: a bit, a byte, a word to a value that offsets and sizes dislike; may cut the end off.
fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    const WORDS: [u64; 8] = [0, 1, u64::MAX, u64::MAX - 63, 1 << 63, u32::MAX as u64, 1 << 31, 0x40];
    for _ in 0..=random.below(8) {
        // Headers decide most: the file's, and the sections' at the end.
        let at = match random.below(3) {
            0 => random.below(bytes.len().min(256)),
            1 => bytes.len() - 1 - random.below(bytes.len().min(4096)),
            _ => random.below(bytes.len()),
        };
        match random.below(3) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = random.below(256) as u8,
            _ => {
                let word = WORDS[random.below(WORDS.len())].to_le_bytes();
                let size = [2, 4, 8][random.below(3)].min(bytes.len() - at);
                bytes[at..at + size].copy_from_slice(&word[..size]);
            }
        }
    }
    if random.below(8) == 0 {
        bytes.truncate(1 + random.below(bytes.len()));
    }
}

#[test]
fn damaged_files_end_in_an_answer_or_an_error() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for name in [
        "base.cubin",
        "base_12.9.cubin",
        "pair_plain.fatbin",
        "pair_concat.fatbin",
        "pair_lz4.fatbin",
        "two.o",
    ] {
        let whole = bytes(name);
        for _ in 0..600 {
            let mut damaged = whole.clone();
            mutate(&mut damaged, &mut random);
            if let Ok(all) = read(&damaged) {
                let names: usize = all.iter().flat_map(|code| code.kernels.keys()).map(String::len).sum();
                assert!(names <= 16 * damaged.len());
            }
        }
    }
}
