//! The device's time: the monotonic clock, or a virtual one that is exact.
//!
//! Under the virtual clock each command has a duration that the settings say. The host's time moves only by the commands that it
//! queues and by waiting, so that a kernel that is queued alone starts late, and one behind a spin kernel does not.

use std::io::{Seek, Write};
use std::time::{Duration, Instant};

use crate::settings::Settings;

/// Where time begins, in ns: a stamp of 0 would look like one that nobody wrote.
const ORIGIN: f64 = 1e9;

pub struct Clock {
    /// None under the virtual clock.
    real: Option<Instant>,
    /// The host's virtual time.
    pub host: f64,
    launch_ns: f64,
    tick_ns: f64,
    per_ns: f64,
    noise: f64,
    process_factor: f64,
    random: u64,
    /// Stretches of the device's time at a lower clock: from, to, factor.
    throttled: Vec<(f64, f64, f64)>,
    kernels: u64,
    sleeps: bool,
    /// Nanoseconds in which kernels worked, and the file that is told of them when the host waits.
    worked: f64,
    load: Option<String>,
    /// When, in real and in virtual time, the first command was queued since the host last waited.
    queued: Option<(Instant, f64)>,
}

impl Clock {
    pub fn new(settings: &Settings) -> Self {
        let real = match settings.text("clock").unwrap_or("real") {
            "real" => Some(Instant::now()),
            "virtual" => None,
            other => {
                eprintln!("fake_cuda: no such clock: {other}");
                std::process::abort()
            }
        };
        Self {
            real,
            host: ORIGIN,
            launch_ns: settings.number("launch_us", 4.0) * 1e3,
            tick_ns: settings.number("tick_us", 0.001) * 1e3,
            per_ns: settings.number("clock_mhz", 1980.0) / 1e3,
            noise: settings.number("noise", 0.0),
            process_factor: 1.0,
            random: 0,
            throttled: Vec::new(),
            kernels: 0,
            sleeps: settings.on("sleep"),
            worked: 0.0,
            load: settings.text("load").map(str::to_owned),
            queued: None,
        }
    }

    /// What differs between processes, once for each.
    pub fn begin(&mut self, settings: &Settings) {
        let number = match settings.text("counter") {
            Some(path) => count(path),
            None => u64::from(std::process::id()),
        };
        let seed = settings.number("seed", 0.0) as u64;
        self.random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ number.wrapping_mul(0xd1b5_4a32_d192_ed03);
        let spread = settings.number("process_noise", 0.0);
        self.process_factor = (1.0 + spread * self.normal()).max(0.1);
    }

    pub fn is_virtual(&self) -> bool {
        self.real.is_none()
    }

    /// The time of the monotonic clock, on the scale of the virtual one.
    fn real_now(&self) -> Option<f64> {
        self.real.map(|start| ORIGIN + start.elapsed().as_nanos() as f64)
    }

    /// The host queues a command; its time.
    pub fn queue(&mut self) -> f64 {
        self.host += self.launch_ns;
        if self.queued.is_none() {
            self.queued = Some((Instant::now(), self.host));
        }
        self.host
    }

    /// When a command begins that cannot begin before `earliest`.
    pub fn start(&self, earliest: f64) -> f64 {
        self.real_now().unwrap_or(earliest)
    }

    /// When a command ends that began at `start` and lasts so long without noise.
    pub fn end(&mut self, start: f64, duration: f64) -> f64 {
        match self.real_now() {
            Some(now) => now,
            None => start + duration * self.factor(),
        }
    }

    /// A kernel worked for so long; one that only waits for the host does not.
    pub fn worked(&mut self, nanoseconds: f64) {
        self.worked += nanoseconds;
    }

    /// The host waited until `time`.
    pub fn wait_until(&mut self, time: f64) {
        if let Some(path) = &self.load {
            // In one step: the other stand-in reads it at any time.
            let new = format!("{path}.new");
            let told = std::fs::write(&new, format!("{:.0}", self.worked));
            told.and_then(|()| std::fs::rename(&new, path)).expect("the load can be written");
        }
        self.host = self.host.max(time);
        if let Some((real, virtual_start)) = self.queued.take()
            && self.sleeps
            && self.is_virtual()
        {
            let wanted = Duration::from_nanos((self.host - virtual_start).max(0.0) as u64);
            std::thread::sleep(wanted.saturating_sub(real.elapsed()));
        }
    }

    /// The factor by which the next kernel is slower, 1 mostly. Counts it.
    pub fn throttle(&mut self, settings: &Settings) -> f64 {
        self.kernels += 1;
        match settings.throttle {
            Some(it) if (it.first..=it.last).contains(&self.kernels) => it.factor,
            _ => 1.0,
        }
    }

    /// A kernel ran from `start` to `end` at a clock that was lower by `factor`.
    pub fn throttled(&mut self, start: f64, end: f64, factor: f64) {
        if factor == 1.0 || !self.is_virtual() {
            return;
        }
        // The clock stays low between two such kernels.
        match self.throttled.last_mut() {
            Some((_, last_end, _)) => *last_end = last_end.max(end),
            None => self.throttled.push((start, end, factor)),
        }
    }

    /// Ticks of the SM clock at a time of the device.
    pub fn sm_ticks(&self, time: f64) -> u64 {
        let lost: f64 = self
            .throttled
            .iter()
            .map(|(from, to, factor)| (time.min(*to) - from).max(0.0) * (1.0 - 1.0 / factor))
            .sum();
        ((time - lost) * self.per_ns) as u64
    }

    /// What an event says of a time.
    pub fn stamp(&self, time: f64) -> f64 {
        (time / self.tick_ns).round() * self.tick_ns
    }

    fn factor(&mut self) -> f64 {
        if self.noise == 0.0 {
            return self.process_factor;
        }
        self.process_factor * (1.0 + self.noise * self.normal()).max(0.1)
    }

    /// SplitMix64 (Steele, Lea, Flood 2014), from 0 to below 1.
    fn uniform(&mut self) -> f64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.random;
        word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((word ^ word >> 31) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Box and Muller 1958.
    fn normal(&mut self) -> f64 {
        let (radius, angle) = (1.0 - self.uniform(), self.uniform());
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }
}

/// Appends a byte; the length that the file had before.
fn count(path: &str) -> u64 {
    let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
    let place = file.and_then(|mut file| {
        file.write_all(b"+")?;
        file.stream_position()
    });
    match place {
        Ok(place) => place - 1,
        Err(error) => {
            eprintln!("fake_cuda: counter {path}: {error}");
            std::process::abort()
        }
    }
}
