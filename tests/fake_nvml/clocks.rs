//! Locked clocks. The file that `FAKE_NVML_CLOCKS` names keeps them, a line each (`sm.0 1410 1410`), so that another process meets and ends
//! them, as on a real card. Without the variable they are accepted and forgotten.
//!
//! The file's neighbour `.log` gets a line when a process starts the library (`init PID`), when one begins to set or reset a clock
//! (`> set_sm.0 1410 1410`), when that has happened (`set_sm.0 1410 1410 = 0`, the code), and when a held clock is read. While the neighbour
//! `.hold` holds the name of a call (`set_sm`), such a call waits after its first line.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use crate::settings::setting;
use crate::{Code, Device, INVALID_ARGUMENT, card};

/// `NVML_CLOCK_LIMIT_ID_TDP` and `NVML_CLOCK_LIMIT_ID_UNLIMITED`.
const TDP: u32 = 0xffff_ff01;
const UNLIMITED: u32 = 0xffff_ff02;

fn file() -> Option<PathBuf> {
    std::env::var_os("FAKE_NVML_CLOCKS").map(PathBuf::from)
}

fn neighbour(suffix: &str) -> Option<PathBuf> {
    let mut path = file()?.into_os_string();
    path.push(suffix);
    Some(path.into())
}

pub fn log(line: &str) {
    let Some(path) = neighbour(".log") else { return };
    let file = fs::OpenOptions::new().append(true).create(true).open(path);
    file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes())).expect("the log can be written");
}

fn lines() -> Vec<String> {
    let text = file().and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn name(kind: &str, device: Device) -> String {
    format!("{kind}.{} ", device - 1)
}

/// The range to which a clock is locked.
pub fn held(kind: &str, device: Device) -> Option<(u64, u64)> {
    let lines = lines();
    let line = lines.iter().find_map(|line| line.strip_prefix(&name(kind, device)))?;
    let (least, most) = line.split_once(' ')?;
    Some((least.parse().ok()?, most.parse().ok()?))
}

/// A clock as the lock lets it be. A held one that is read is logged.
pub fn within(kind: &str, device: Device, usual: u64) -> u64 {
    let Some((least, most)) = held(kind, device) else { return usual };
    let clock = usual.clamp(least, most);
    log(&format!("read_{kind}.{} = {clock}", device - 1));
    clock
}

/// Writes a lock, or takes one away.
fn change(kind: &str, device: Device, range: Option<(u32, u32)>) {
    let Some(path) = file() else { return };
    let name = name(kind, device);
    let mut lines: Vec<String> = lines().into_iter().filter(|line| !line.starts_with(&name)).collect();
    lines.extend(range.map(|(least, most)| format!("{name}{least} {most}")));
    // In one step: a process that is killed meanwhile leaves the one or the other.
    let new = neighbour(&format!(".{}", std::process::id())).expect("there is a file");
    fs::write(&new, lines.join("\n"))
        .and_then(|()| fs::rename(&new, path))
        .expect("the state can be written");
}

fn call(
    verb: &str,
    kind: &str,
    device: Device,
    words: &str,
    act: impl FnOnce() -> Result<(), Code>,
) -> Result<(), Code> {
    let (key, line) = (format!("{verb}_{kind}"), format!("{verb}_{kind}.{}{words}", device - 1));
    log(&format!("> {line}"));
    let is_held = || {
        let text = neighbour(".hold").and_then(|path| fs::read_to_string(path).ok());
        text.is_some_and(|text| text.trim() == key)
    };
    while is_held() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let done = setting(&key, Some(device), 0).map(drop).and_then(|()| act());
    log(&format!("{line} = {}", done.err().unwrap_or(0)));
    done
}

pub fn set(kind: &str, device: Device, least: u32, most: u32) -> Result<(), Code> {
    call("set", kind, device, &format!(" {least} {most}"), || {
        let highest = card::profile(device).sm.max;
        let mhz = |clock| match clock {
            TDP => highest * 3 / 4,
            UNLIMITED => highest,
            clock => clock,
        };
        if mhz(least) > mhz(most) {
            return Err(INVALID_ARGUMENT);
        }
        change(kind, device, Some((mhz(least), mhz(most))));
        Ok(())
    })
}

pub fn limit(device: Device, milliwatts: u32) -> Result<(), Code> {
    call("set", "power", device, &format!(" {milliwatts}"), || {
        let power = &card::profile(device).power;
        if !(power.min * 1000..=power.limit * 1000).contains(&milliwatts) {
            return Err(INVALID_ARGUMENT);
        }
        change("power", device, Some((milliwatts, milliwatts)));
        Ok(())
    })
}

pub fn reset(kind: &str, device: Device) -> Result<(), Code> {
    call("reset", kind, device, "", || {
        change(kind, device, None);
        Ok(())
    })
}
