//! One card as it is at a moment: its settings, what follows from them, and what befell it.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::profiles::{self, Profile};
use crate::settings::{self, Span, setting};
use crate::{Code, Device, GPU_IS_LOST, INVALID_ARGUMENT, UNINITIALIZED, clocks};

/// More are not to be had: the counters are static.
const MOST: usize = 64;

/// Calls of `nvmlInit_v2` without their `nvmlShutdown`.
pub static STARTED: AtomicU64 = AtomicU64::new(0);

static QUERIES: [AtomicU64; MOST] = [const { AtomicU64::new(0) }; MOST];
static LOST: [AtomicBool; MOST] = [const { AtomicBool::new(false) }; MOST];

/// Bits of `nvmlClocksEventReasons`.
pub const IDLE: u64 = 0x1;
const SW_POWER_CAP: u64 = 0x4;
const HW_SLOWDOWN: u64 = 0x8;
const SYNC_BOOST: u64 = 0x10;
const SW_THERMAL: u64 = 0x20;
const HW_THERMAL: u64 = 0x40;
const HW_POWER_BRAKE: u64 = 0x80;
const BOARD_LIMIT: u64 = 0x200;
const RELIABILITY: u64 = 0x400;

/// Bits of `nvmlEventType`.
pub const DOUBLE_BIT_ECC: u64 = 0x2;
pub const XID: u64 = 0x8;

/// The Xid of a GPU that has fallen off the bus.
const OFF_THE_BUS: u64 = 79;

pub fn count() -> Result<u64, Code> {
    setting("count", None, 2)
}

pub fn profile(device: Device) -> &'static Profile {
    profiles::named(settings::text("profile", Some(device)).as_deref())
}

/// Before every answer: the library is started, there is such a card, and it is not lost. Counts the query.
pub fn asked(device: Device) -> Result<(), Code> {
    started()?;
    let most = settings::pieces("count", None).first().map_or(Ok(2), |piece| piece.value).unwrap_or(2);
    if device == 0 || device > MOST.min(most as usize) {
        return Err(INVALID_ARGUMENT);
    }
    let queries = QUERIES[device - 1].fetch_add(1, Ordering::Relaxed) + 1;
    meter(device);
    if is_lost(device, queries) { Err(GPU_IS_LOST) } else { Ok(()) }
}

pub fn started() -> Result<(), Code> {
    if STARTED.load(Ordering::Relaxed) == 0 { Err(UNINITIALIZED) } else { Ok(()) }
}

pub fn queries(device: Device) -> u64 {
    QUERIES[device - 1].load(Ordering::Relaxed)
}

/// Once lost it stays lost, whatever the settings say later. Later processes learn it from the file of settings.
fn is_lost(device: Device, queries: u64) -> bool {
    let lost = &LOST[device - 1];
    if lost.load(Ordering::Relaxed) {
        return true;
    }
    let time = settings::now();
    let now = ["lost", "fallen_off_bus"]
        .into_iter()
        .any(|word| settings::happening(word, device).is_some_and(|span| span.begun(queries, time)));
    if now && !lost.swap(true, Ordering::Relaxed) {
        if let Some(path) = std::env::var_os("FAKE_NVML_FILE") {
            use std::io::Write;
            let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
            let word = format!(" lost.{}\n", device - 1);
            file.and_then(|mut file| file.write_all(word.as_bytes()))
                .expect("the file of settings can be written");
        }
    }
    now
}

/// Without a query.
pub fn is_lost_now(device: Device) -> bool {
    is_lost(device, queries(device))
}

/// Percent of the time in which kernels run.
pub fn utilization(device: Device) -> Result<u64, Code> {
    setting("utilization", Some(device), 0)
}

/// Idle is a reason of its own; a card with work has none.
fn usual_reasons(utilization: u64) -> u64 {
    if utilization == 0 { IDLE } else { 0 }
}

pub fn reasons(device: Device) -> Result<u64, Code> {
    let utilization = settings::quietly("utilization", device, 0, settings::now());
    setting("reasons", Some(device), usual_reasons(utilization))
}

/// MHz: at rest the card's lowest, with work its highest, less where something holds it down. nvml.h: hardware slowdown is a
/// factor of two or more.
pub fn sm_clock(device: Device) -> Result<u64, Code> {
    let time = settings::now();
    let utilization = settings::quietly("utilization", device, 0, time);
    let reasons = settings::quietly("reasons", device, usual_reasons(utilization), time);
    let clocks = &profile(device).sm;
    let usual = match utilization {
        0 => clocks.idle,
        _ if reasons & (HW_SLOWDOWN | HW_THERMAL | HW_POWER_BRAKE) != 0 => clocks.max / 2,
        _ if reasons & (SW_POWER_CAP | SW_THERMAL | BOARD_LIMIT) != 0 => clocks.max * 4 / 5,
        _ => clocks.max,
    };
    setting("sm_clock", Some(device), usual.into()).map(|clock| clocks::within("sm", device, clock))
}

/// Milliwatts that the card takes at a time: between rest and its limit, by how busy it is.
fn usual_power(device: Device, time: u64) -> u64 {
    let power = &profile(device).power;
    let busy = settings::quietly("utilization", device, 0, time).min(100) as f64 / 100.0;
    ((power.idle + (f64::from(power.limit) - power.idle) * busy) * 1000.0).round() as u64
}

/// Milliwatts: what was set, else the card's usual limit.
pub fn power_limit(device: Device) -> Result<u64, Code> {
    let usual = u64::from(profile(device).power.limit) * 1000;
    setting("power_limit", Some(device), clocks::held("power", device).map_or(usual, |(limit, _)| limit))
}

pub fn power(device: Device) -> Result<u64, Code> {
    setting("power", Some(device), usual_power(device, settings::now()))
}

fn power_at(device: Device, time: u64) -> u64 {
    settings::quietly("power", device, usual_power(device, time), time)
}

/// What a card counts as time goes by: filled at every query, by what the settings say then.
#[derive(Clone, Copy, Default)]
struct Meter {
    /// Nanoseconds since the library's start up to which it counts.
    until: u64,
    /// Picojoules: milliwatts times nanoseconds.
    energy: u128,
    /// Nanoseconds, in the order of [`POLICIES`].
    held: [u128; POLICIES.len()],
}

static METERS: Mutex<[Meter; MOST]> =
    Mutex::new([Meter { until: 0, energy: 0, held: [0; POLICIES.len()] }; MOST]);

/// `nvmlPerfPolicyType_t` with the reasons that belong to it, and the key that says otherwise.
const POLICIES: [(u32, &str, u64); 8] = [
    (0, "held_power", SW_POWER_CAP | HW_POWER_BRAKE),
    (1, "held_thermal", SW_THERMAL | HW_THERMAL),
    (2, "held_sync", SYNC_BOOST),
    (3, "held_board", BOARD_LIMIT),
    (4, "held_idle", IDLE),
    (5, "held_reliability", RELIABILITY),
    (10, "held_application", LIMITERS),
    (11, "held_base", HW_SLOWDOWN | HW_THERMAL | HW_POWER_BRAKE),
];

/// All that hold a card below the clocks that were asked for.
const LIMITERS: u64 = SW_POWER_CAP
    | HW_SLOWDOWN
    | SYNC_BOOST
    | SW_THERMAL
    | HW_THERMAL
    | HW_POWER_BRAKE
    | BOARD_LIMIT
    | RELIABILITY;

/// The meter of a card, up to now. Values that hold for some calls only are not metered, since no time belongs to them.
fn meter(device: Device) -> Meter {
    let mut meters = METERS.lock().unwrap();
    let meter = &mut meters[device - 1];
    let (from, to) = (meter.until, settings::now().max(meter.until));
    let keys = ["power", "reasons", "utilization"];
    for (begin, end) in settings::stretches(&keys, device, from, to) {
        let length = u128::from(end - begin);
        meter.energy += u128::from(power_at(device, begin)) * length;
        let utilization = settings::quietly("utilization", device, 0, begin);
        let reasons = settings::quietly("reasons", device, usual_reasons(utilization), begin);
        for (held, (_, _, bits)) in meter.held.iter_mut().zip(POLICIES) {
            *held += if reasons & bits != 0 { length } else { 0 };
        }
    }
    meter.until = to;
    *meter
}

/// Millijoules since the driver's start, which was some time before the library's.
pub fn energy(device: Device) -> Result<u64, Code> {
    const BEFORE: u64 = 1_000_000;
    if let Some(path) = settings::text("load", Some(device)) {
        // Before the first kernel there is no file.
        let worked = std::fs::read_to_string(path).unwrap_or_default().parse().unwrap_or(0.0);
        let milliwatts = power_at(device, settings::now()) as f64;
        return setting("energy", Some(device), BEFORE + (milliwatts * worked / 1e9) as u64);
    }
    setting("energy", Some(device), BEFORE + (meter(device).energy / 1_000_000_000) as u64)
}

/// Nanoseconds in which this policy held the clocks down. `None` is a policy that nvml.h does not have.
pub fn held(device: Device, policy: u32) -> Option<Result<u64, Code>> {
    let index = POLICIES.iter().position(|(known, _, _)| *known == policy)?;
    Some(setting(POLICIES[index].1, Some(device), meter(device).held[index] as u64))
}

/// Values of a kind of sample (`nvmlSamplingType_t`) at a time; `None` is a kind that is not kept.
pub fn sample(device: Device, kind: u32, time: u64) -> Option<u64> {
    let profile = profile(device);
    Some(match kind {
        0 => power_at(device, time),
        1 => settings::quietly("utilization", device, 0, time),
        2 => settings::quietly("memory_utilization", device, 0, time),
        5 => {
            let busy = settings::quietly("utilization", device, 0, time) > 0;
            let usual = if busy { profile.sm.max } else { profile.sm.idle };
            settings::quietly("sm_clock", device, usual.into(), time)
        }
        6 => settings::quietly("memory_clock", device, profile.memory_clock.into(), time),
        _ => return None,
    })
}

/// Uncorrectable memory errors, since the driver's start. As with every event, the calls that count are all queries.
pub fn uncorrectable(device: Device) -> Result<u64, Code> {
    let pieces = settings::pieces("ecc_uncorrectable", Some(device));
    settings::value(&pieces, queries(device), settings::now()).unwrap_or(Ok(0))
}

/// Something that happens once.
#[derive(Clone, Copy, PartialEq)]
pub struct Happening {
    pub kind: u64,
    pub data: u64,
    pub span: Span,
}

/// What is to happen to a card, in the order in which it is written.
fn happenings(device: Device) -> Vec<Happening> {
    let mut all = Vec::new();
    for (key, kind) in [("xid", XID), ("ecc_uncorrectable", DOUBLE_BIT_ECC)] {
        for piece in settings::pieces(key, Some(device)).iter() {
            if let Ok(value) = piece.value.and_then(|value| if value == 0 { Err(0) } else { Ok(value) }) {
                let data = if kind == XID { value } else { 0 };
                all.push(Happening { kind, data, span: piece.span });
            }
        }
    }
    if let Some(span) = settings::happening("fallen_off_bus", device) {
        all.push(Happening { kind: XID, data: OFF_THE_BUS, span });
    }
    all
}

/// A set of events, as `nvmlEventSetCreate` makes it.
#[derive(Default)]
pub struct EventSet {
    /// Cards with the kinds that are asked for.
    pub registered: Vec<(Device, u64)>,
    /// What was told, or lay before the registration.
    told: Vec<(Device, Happening)>,
}

pub static SETS: Mutex<Vec<Option<EventSet>>> = Mutex::new(Vec::new());

impl EventSet {
    /// What happened before is not recorded. What has no time happens right after.
    pub fn register(&mut self, device: Device, kinds: u64) {
        let (queries, time) = (queries(device), settings::now());
        for happening in happenings(device) {
            if happening.span != Span::Always && happening.span.begun(queries, time) {
                self.told.push((device, happening));
            }
        }
        self.registered.push((device, kinds));
    }

    /// The next event that is due.
    pub fn next(&mut self) -> Option<(Device, Happening)> {
        let time = settings::now();
        for &(device, kinds) in &self.registered {
            for happening in happenings(device) {
                let due = happening.kind & kinds != 0 && happening.span.begun(queries(device), time);
                if due && !self.told.contains(&(device, happening)) {
                    self.told.push((device, happening));
                    return Some((device, happening));
                }
            }
        }
        None
    }
}
