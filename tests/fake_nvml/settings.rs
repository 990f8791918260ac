//! What `FAKE_NVML` asks for, and when.
//!
//! Words separated by blanks. `KEY=VALUE` is for every GPU, `KEY.1=VALUE` for the second alone. A value is a number,
//! hexadecimal after `0x`, or after `!` the error code that the function returns. Several values, separated by commas, each
//! with the time in which it holds, change by themselves; of those that hold the last one counts, and the usual value where
//! none holds:
//!
//! - `@4` from the fourth time on that this is asked of this GPU; `@4-6` the fourth to the sixth time;
//! - `@2s` from two seconds after the library's start on; `@2s-4s`, `@500ms-1s` until then.
//!
//! `reasons=1,0x48@2s-4s power=71500,650000@2s-4s`. The file that `FAKE_NVML_FILE` names, where there is one, has words that
//! go before those of the variable: a test changes the card by writing it, while the library runs.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::rc::Rc;
use std::sync::{LazyLock, Mutex, OnceLock};
use std::time::Instant;

use crate::{Code, Device, NOT_SUPPORTED};

/// One value, and when it holds.
#[derive(Clone, Copy)]
pub struct Piece {
    pub value: Result<u64, Code>,
    pub span: Span,
}

/// A time in which something holds; the end is not part of a span of times, and part of one of calls.
#[derive(Clone, Copy, PartialEq)]
pub enum Span {
    Always,
    Calls(u64, u64),
    /// Nanoseconds since the library's start.
    Times(u64, u64),
}

impl Span {
    pub fn holds(self, calls: u64, time: u64) -> bool {
        match self {
            Self::Always => true,
            Self::Calls(from, to) => (from..=to).contains(&calls),
            Self::Times(from, to) => (from..to).contains(&time),
        }
    }

    /// Whether its beginning is over.
    pub fn begun(self, calls: u64, time: u64) -> bool {
        match self {
            Self::Always => true,
            Self::Calls(from, _) => calls >= from,
            Self::Times(from, _) => time >= from,
        }
    }

    /// `4`, `4-6`, `2s`, `2s-4s`, `500ms-1s`.
    fn parse(text: &str) -> Self {
        let (from, to) = match text.split_once('-') {
            Some((from, to)) => (from, Some(to)),
            None => (text, None),
        };
        match (time(from), to) {
            (Some(from), to) => {
                Self::Times(from, to.map_or(u64::MAX, |to| time(to).expect("a time after the -")))
            }
            (None, to) => {
                let number = |text: &str| text.parse().expect("a number of calls, or a time in s or ms");
                Self::Calls(number(from), to.map_or(u64::MAX, number))
            }
        }
    }
}

/// Nanoseconds.
fn time(text: &str) -> Option<u64> {
    let (number, factor) = match text.strip_suffix("ms") {
        Some(number) => (number, 1e6),
        None => (text.strip_suffix('s')?, 1e9),
    };
    Some((number.parse::<f64>().expect("a number before the unit") * factor) as u64)
}

/// Nanoseconds since the library's start.
pub fn now() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// The file of settings, where there is one.
static FILE: LazyLock<Option<OsString>> = LazyLock::new(|| std::env::var_os("FAKE_NVML_FILE"));

/// All that is asked for, the most important first. The file can change while the library runs, and the variable cannot.
pub fn words() -> Cow<'static, [String]> {
    static VARIABLE: LazyLock<Vec<String>> =
        LazyLock::new(|| split(&std::env::var("FAKE_NVML").unwrap_or_default()));
    match FILE.as_ref().and_then(|path| std::fs::read_to_string(path).ok()) {
        None => Cow::Borrowed(&**VARIABLE),
        Some(file) => split(&file).into_iter().chain(VARIABLE.iter().cloned()).collect(),
    }
}

fn split(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// The text of a key: that of the GPU before the general one.
pub fn text(key: &str, device: Option<Device>) -> Option<String> {
    let words = words();
    let of = |name: &str| {
        words.iter().find_map(|word| Some(word.strip_prefix(name)?.strip_prefix('=')?.to_owned()))
    };
    device.and_then(|device| of(&format!("{key}.{}", device - 1))).or_else(|| of(key))
}

/// The values of a key in their order; empty where nothing is said of it. Looked up once where no file can change them: an answer is to
/// cost next to nothing.
pub fn pieces(key: &str, device: Option<Device>) -> Rc<[Piece]> {
    type Known = HashMap<Option<Device>, HashMap<String, Rc<[Piece]>>>;
    thread_local! {
        static KNOWN: RefCell<Known> = RefCell::default();
    }
    let read = || {
        let text = text(key, device).unwrap_or_default();
        text.split(',').filter(|piece| !piece.is_empty()).map(piece).collect()
    };
    if FILE.is_some() {
        return read();
    }
    KNOWN.with_borrow_mut(|known| {
        let of_device = known.entry(device).or_default();
        match of_device.get(key) {
            Some(pieces) => Rc::clone(pieces),
            None => Rc::clone(of_device.entry(key.to_owned()).or_insert_with(read)),
        }
    })
}

fn piece(text: &str) -> Piece {
    let (value, span) = match text.split_once('@') {
        Some((value, span)) => (value, Span::parse(span)),
        None => (text, Span::Always),
    };
    let value = match (value.strip_prefix('!'), value.strip_prefix("0x")) {
        (Some(code), _) => Err(code.parse().expect("an error code after the !")),
        (None, Some(digits)) => Ok(u64::from_str_radix(digits, 16).expect("hexadecimal digits after the 0x")),
        (None, None) => Ok(value.parse().expect("a number")),
    };
    Piece { value, span }
}

/// When a word like `lost`, `lost.1@40` or `fallen_off_bus@3s` says that it happens to this GPU.
pub fn happening(word: &str, device: Device) -> Option<Span> {
    words().iter().find_map(|found| {
        let rest = found.strip_prefix(word)?;
        let rest = rest.strip_prefix(&format!(".{}", device - 1)).unwrap_or(rest);
        match rest.strip_prefix('@') {
            Some(span) => Some(Span::parse(span)),
            None => rest.is_empty().then_some(Span::Always),
        }
    })
}

/// How often a key was asked of a GPU, this time included.
fn asked(key: &str, device: Option<Device>) -> u64 {
    static ASKED: Mutex<BTreeMap<(String, Option<Device>), u64>> = Mutex::new(BTreeMap::new());
    let mut asked = ASKED.lock().unwrap();
    let count = asked.entry((key.to_owned(), device)).or_default();
    *count += 1;
    *count
}

/// Prefixes of the keys that the driver of a guest does not report.
const WITHHELD: [&str; 14] = [
    "utilization",
    "memory_utilization",
    "power",
    "energy",
    "temperature",
    "held_",
    "ecc",
    "remap",
    "retirement",
    "nvlink",
    "pcie_",
    "set_",
    "reset_",
    "persistence",
];

/// `vgpu=1`: a slice in time, given to a guest.
pub fn is_virtual(device: Device) -> bool {
    quietly("vgpu", device, 0, now()) != 0
}

/// The value of a key now. An answer to a question: it is counted.
pub fn setting(key: &str, device: Option<Device>, usual: u64) -> Result<u64, Code> {
    if device.is_some_and(is_virtual) && WITHHELD.iter().any(|withheld| key.starts_with(withheld)) {
        return Err(NOT_SUPPORTED);
    }
    let calls = asked(key, device);
    value(&pieces(key, device), calls, now()).unwrap_or(Ok(usual))
}

/// The value at a time, without asking; spans of calls do not take part, since no call is made.
pub fn quietly(key: &str, device: Device, usual: u64, time: u64) -> u64 {
    let pieces = pieces(key, Some(device));
    value(&pieces, 0, time).and_then(Result::ok).unwrap_or(usual)
}

pub fn value(pieces: &[Piece], calls: u64, time: u64) -> Option<Result<u64, Code>> {
    pieces.iter().rev().find(|piece| piece.span.holds(calls, time)).map(|piece| piece.value)
}

/// The stretches of a span of time in which none of these keys changes, as beginning and end.
pub fn stretches(keys: &[&str], device: Device, from: u64, to: u64) -> Vec<(u64, u64)> {
    let mut edges = vec![from, to];
    for key in keys {
        for piece in pieces(key, Some(device)).iter() {
            if let Span::Times(begin, end) = piece.span {
                edges.extend([begin, end].into_iter().filter(|edge| (from..to).contains(edge)));
            }
        }
    }
    edges.sort_unstable();
    edges.windows(2).map(|edges| (edges[0], edges[1])).collect()
}
