//! Whole files as written by real tools; `fixtures/gpu/code` documents them.

use std::{collections::BTreeMap, path::Path};

use super::*;
use case_files::{Answer, Given, walk};

/// The bytes of a file, or of several concatenated ones, with `+` between their names.
fn bytes(names: &str) -> Vec<u8> {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/gpu/code"));
    names.split('+').flat_map(|name| std::fs::read(folder.join(name)).unwrap()).collect()
}

fn code(name: &str) -> ArchCode {
    let mut all = read(&bytes(name)).unwrap();
    assert_eq!(all.len(), 1, "{name}");
    all.remove(0)
}

const KINDS: [(&str, Answer); 5] =
    [
        ("differences", |given| {
            let text = given.text();
            let (base, head) = text.split_once(' ').unwrap();
            assert_ne!(bytes(base), bytes(head));
            difference_text(&code(base), &code(head))
        }),
        ("files", file),
        ("logs", |given| {
            format!(
                "{:?}",
                spills(&given.get("log").map_or_else(
                    || given.text(),
                    |name| { String::from_utf8(bytes(name.trim_end())).unwrap() }
                ))
            )
        }),
        ("made-up", |given| {
            let text = given.text();
            let (base, head) = text.split_once(" | ").unwrap();
            difference_text(&made_up(base), &made_up(head))
        }),
        ("names", |given| format!("{:?}", display_name(&given.text()))),
    ];

#[test]
fn every_case_is_answered_as_its_file_says() {
    walk(env!("CARGO_MANIFEST_DIR"), KINDS, 55);
}

fn difference_text(base: &ArchCode, head: &ArchCode) -> String {
    let CodeDifference { identical, changed, added, removed, renamed, same_arch, same_toolkit } =
        difference(base, head);
    let mut text = if identical { "identical".to_owned() } else { "not identical".to_owned() };
    for (what, names) in [("changed", changed), ("added", added), ("removed", removed)] {
        if !names.is_empty() {
            text += &format!(", {what} {}", names.join(" "));
        }
    }
    text.extend(renamed.iter().map(|(from, to)| format!(", renamed {from} to {to}")));
    text + &format!("; same architecture {same_arch}, same toolkit {same_toolkit:?}")
}

/// Parses `sm_90 known a=1 b=2`: an architecture, whether the compiler is known, kernels and their hashes.
fn made_up(text: &str) -> ArchCode {
    let mut words = text.split(' ');
    let arch = words.next().unwrap().to_owned();
    let compiler = (words.next() == Some("known")).then(|| "CUDA 13.5.37".to_owned());
    let kernel = |word: &str| {
        let (name, sha256) = word.split_once('=').unwrap();
        (name.to_owned(), ArchKernel { sha256: sha256.into(), ..ArchKernel::default() })
    };
    ArchCode { arch, compiler, kernels: words.map(kernel).collect() }
}

/// Lists the kernels of a file, each with its registers, shared memory and frame.
fn file(given: &Given) -> String {
    let all = match read(&bytes(&given.text())) {
        Ok(all) => all,
        Err(error) => return format!("{error:?}"),
    };
    let kernel = |(name, it): (&String, &ArchKernel)| {
        format!("  {name} {:?} {:?} {:?}\n", it.registers, it.shared_bytes, it.frame_bytes)
    };
    let code = |code: &ArchCode| {
        let kernels: String = code.kernels.iter().map(kernel).collect();
        format!("{} by {:?}\n{kernels}", code.arch, code.compiler)
    };
    all.iter().map(code).collect()
}

/// The figures of `cuobjdump -res-usage` by architecture and kernel, the shared memory as ptxas counts it.
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
            let shared: u64 = figure("SHARED").parse().unwrap();
            // From sm_90 on it counts what the system takes of each block.
            let reserved =
                if arch[3..].trim_end_matches('a').parse::<u32>().unwrap() >= 90 { 1024 } else { 0 };
            let figures = (
                figure("REG").parse().unwrap(),
                figure("STACK").parse().unwrap(),
                shared.saturating_sub(reserved),
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
        assert_eq!(said.len(), 4 * 5, "kernels for four architectures");
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
fn different_code_under_one_name_gives_one_hash_whatever_comes_first() {
    let one = code("ptxas.fatbin+edited.fatbin+maxrregcount.fatbin");
    assert_eq!(one, code("maxrregcount.fatbin+ptxas.fatbin+edited.fatbin"));
}

#[test]
fn what_is_no_file_with_device_code_says_so() {
    assert_eq!(read(b""), Err(CodeError::NotDeviceCode));
    assert_eq!(read(b"//\n// Generated by NVIDIA NVVM Compiler\n\n.version 8.4\n"), Err(CodeError::OnlyPtx));
    let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    assert_eq!(read(&program), Err(CodeError::NoDeviceCode));
}

#[test]
fn an_entry_that_does_not_unpack_says_how_to_compile() {
    for name in ["pair_zstd.fatbin", "pair_lz4.fatbin"] {
        let mut damaged = bytes(name);
        // After the fatbin's header and the first entry's.
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

/// Changes one to eight places: a bit, a byte, or a word to a value that offsets and sizes dislike; may truncate the end.
fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    const WORDS: [u64; 8] = [0, 1, u64::MAX, u64::MAX - 63, 1 << 63, u32::MAX as u64, 1 << 31, 0x40];
    for _ in 0..=random.below(8) {
        // Headers matter most: the file's, and the sections' at the end.
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
