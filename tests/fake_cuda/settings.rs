//! What the variables say: `FAKE_CUDA`, and laid over it the file that `FAKE_CUDA_FILE` names.
//!
//! Both hold `key=value` pairs between blanks; in the file a line that begins with `#` is a comment. The file's path is relative to
//! the working folder, so that the two sides of a comparison can differ by a file of their trees; where it is absent, nothing
//! differs. A key that nobody knows ends the process, since a test with a mistyped key would show nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// One function that fails.
#[derive(Clone, Copy)]
pub struct Fault {
    pub code: u32,
    /// The first call that fails, counted from 1.
    first: u64,
    forever: bool,
}

impl Fault {
    pub fn hits(self, call: u64) -> bool {
        if self.forever { call >= self.first } else { call == self.first }
    }

    /// `!CODE` (each call), `!CODE@N` (the Nth), `!CODE@N*` (from the Nth on).
    fn read(text: &str) -> Option<Self> {
        let text = text.strip_prefix('!')?;
        let Some((code, place)) = text.split_once('@') else {
            return Some(Self { code: text.parse().ok()?, first: 1, forever: true });
        };
        let first = place.strip_suffix('*').unwrap_or(place).parse().ok()?;
        Some(Self { code: code.parse().ok()?, first, forever: place.ends_with('*') })
    }
}

/// A stretch of the process's kernels that run at a lower clock.
#[derive(Clone, Copy)]
pub struct Throttle {
    pub factor: f64,
    pub first: u64,
    pub last: u64,
}

pub struct Settings {
    pairs: BTreeMap<String, String>,
    pub faults: BTreeMap<String, Fault>,
    /// Durations of kernels in ms, the longest name first.
    kernels: Vec<(String, f64)>,
    pub throttle: Option<Throttle>,
    /// Kernels that are run each time, whatever `run` says: they read the clock.
    always: BTreeSet<String>,
}

/// Keys that take a number of the GPU after a dot as well.
const OF_A_DEVICE: &[&str] =
    &["name", "uuid", "sm", "total", "sms", "l2", "memory_clock_mhz", "bus_bits", "shared_optin", "pci"];
const GENERAL: &[&str] = &[
    "count",
    "driver",
    "clock",
    "clock_mhz",
    "launch_us",
    "kernel",
    "pcie_gbs",
    "mem_gbs",
    "noise",
    "process_noise",
    "seed",
    "counter",
    "tick_us",
    "throttle",
    "sleep",
    "events",
    "trace",
    "run",
    "twins",
    "always",
    "hang",
    "fresh",
    "replay",
    "newer",
    "jit",
    "exclusive",
    "load",
    "gfx",
];

impl Settings {
    /// `functions`: the names that faults may have.
    pub fn read(functions: &[&str]) -> Self {
        let mut text = std::env::var("FAKE_CUDA").unwrap_or_default();
        if let Some(path) = std::env::var_os("FAKE_CUDA_FILE")
            && let Ok(file) = std::fs::read_to_string(PathBuf::from(path))
        {
            for line in file.lines().filter(|line| !line.trim_start().starts_with('#')) {
                text.push(' ');
                text.push_str(line);
            }
        }
        Self::of(&text, functions)
    }

    fn of(text: &str, functions: &[&str]) -> Self {
        let mut pairs = BTreeMap::new();
        for pair in text.split_whitespace() {
            let (key, value) = match pair.split_once('=') {
                Some(pair) => pair,
                None if pair.starts_with("lost@") => ("lost", &pair["lost@".len()..]),
                None => unknown(pair),
            };
            let (stem, device) = match key.split_once('.') {
                Some((stem, device)) => (stem, Some(device)),
                None => (key, None),
            };
            let number = device.is_some_and(|text| text.parse::<u32>().is_ok());
            let known = match device {
                None => {
                    key == "lost" || [GENERAL, OF_A_DEVICE, functions].iter().any(|keys| keys.contains(&key))
                }
                Some(_) => stem == "kernel" || number && (stem == "attribute" || OF_A_DEVICE.contains(&stem)),
            };
            if !known {
                unknown(pair);
            }
            pairs.insert(key.to_owned(), value.to_owned());
        }
        let faults = pairs
            .iter()
            .filter(|(_, value)| value.starts_with('!'))
            .map(|(key, value)| (key.clone(), Fault::read(value).unwrap_or_else(|| unknown(value))))
            .collect();
        let mut kernels: Vec<(String, f64)> = pairs
            .iter()
            .filter_map(|(key, value)| Some((key.strip_prefix("kernel.")?.to_owned(), number(key, value))))
            .collect();
        // A whole name goes before a prefix, and a long prefix before a short one.
        kernels.sort_by_key(|(name, _)| (name.ends_with('*'), std::cmp::Reverse(name.len())));
        let throttle = pairs.get("throttle").map(|text| throttle(text).unwrap_or_else(|| unknown(text)));
        let always = pairs.get("always").map_or("gb_stamp,gb_spin", String::as_str);
        let always = always.split(',').map(str::to_owned).collect();
        Self { faults, kernels, throttle, always, pairs }
    }

    pub fn text(&self, key: &str) -> Option<&str> {
        self.pairs.get(key).map(String::as_str)
    }

    pub fn number(&self, key: &str, usual: f64) -> f64 {
        self.text(key).map_or(usual, |text| number(key, text))
    }

    pub fn on(&self, key: &str) -> bool {
        self.text(key).is_some_and(|text| text != "0")
    }

    /// The setting of one GPU, else the general one.
    pub fn of_device(&self, key: &str, device: usize) -> Option<&str> {
        self.text(&format!("{key}.{device}")).or_else(|| self.text(key))
    }

    /// A number of one GPU; K, M, G and T are powers of 1024.
    pub fn size_of_device(&self, key: &str, device: usize, usual: u64) -> u64 {
        self.of_device(key, device).map_or(usual, |text| {
            let shift = match text.bytes().last() {
                Some(b'K') => 10,
                Some(b'M') => 20,
                Some(b'G') => 30,
                Some(b'T') => 40,
                _ => 0,
            };
            let digits = if shift == 0 { text } else { &text[..text.len() - 1] };
            digits.parse::<u64>().unwrap_or_else(|_| unknown(text)) << shift
        })
    }

    /// How long a kernel lasts, in ns.
    pub fn kernel_ns(&self, name: &str) -> f64 {
        let own = self.kernels.iter().find(|(pattern, _)| match pattern.strip_suffix('*') {
            Some(prefix) => name.starts_with(prefix),
            None => name == pattern,
        });
        own.map_or_else(|| self.number("kernel", 0.020), |(_, milliseconds)| *milliseconds) * 1e6
    }

    /// Whether the Nth call of a function waits for ever.
    pub fn hangs(&self, function: &str, call: u64) -> bool {
        self.text("hang").is_some_and(|text| {
            let (name, number) = text.split_once('@').unwrap_or((text, "1"));
            name == function && number.parse() == Ok(call)
        })
    }

    /// The call, of all calls, from which on the device is lost.
    pub fn lost(&self) -> Option<u64> {
        self.text("lost").map(|text| text.parse().unwrap_or_else(|_| unknown(text)))
    }

    pub fn runs_always(&self, kernel: &str) -> bool {
        self.always.contains(kernel)
    }
}

fn number(key: &str, text: &str) -> f64 {
    text.parse().unwrap_or_else(|_| unknown(&format!("{key}={text}")))
}

/// `1.4@200-260`: the factor, and the first and the last kernel, counted from 1.
fn throttle(text: &str) -> Option<Throttle> {
    let (factor, stretch) = text.split_once('@')?;
    let (first, last) = stretch.split_once('-')?;
    Some(Throttle { factor: factor.parse().ok()?, first: first.parse().ok()?, last: last.parse().ok()? })
}

fn unknown(text: &str) -> ! {
    eprintln!("fake_cuda: no such setting: {text}");
    std::process::abort()
}
