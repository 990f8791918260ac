//! Cards as data: what NVIDIA's management library says of them.
//!
//! Sources. For T4, L4, L40S, A100, H100 and B200: what `nvidia-smi -q -x` printed on machines of others, as published in
//! the public repository NVIDIA/k8s-test-infra (`tests/e2e/go/assertions/nvidiasmi/testdata/hardware`, August 2026) and, for the
//! L4, in a public monitoring program's test data of July 2024. For A10 and H200, of which no such print was found, NVIDIA's
//! data sheets ("NVIDIA A10 Tensor Core GPU", "NVIDIA H200 Tensor Core GPU") and the tables that plain `nvidia-smi` prints (memory,
//! limit, and for the H200 76 W at rest); the lowest limit and what they do at rest are assumed to be those of A40 and H100, and
//! their application clocks to be the highest. Nothing here was measured by this project. The compute capabilities are those of NVIDIA's table "CUDA GPUs"; a width of 16 lanes is the
//! card's own, whatever the machine gave it.

use crate::{Code, DEPRECATED};

pub struct Profile {
    /// In `FAKE_NVML`.
    pub key: &'static str,
    pub name: &'static str,
    /// Device and vendor, as the PCI bus has them.
    pub pci: u32,
    pub compute: (u32, u32),
    /// MiB; without the share that ECC takes where the memory has no room of its own for it.
    pub memory: u64,
    /// MiB, the driver's.
    pub reserved: u64,
    /// MHz.
    pub sm: Clocks,
    pub memory_clock: u32,
    /// MHz, or the error of a driver that no longer has these clocks.
    pub application_clock: Result<u32, Code>,
    /// Watts: at rest, at least, by default and at most.
    pub power: Power,
    pub pcie_generation: u32,
    pub has_mig: bool,
    /// Celsius, at rest.
    pub temperature: u32,
    /// Of the machine that the facts come from: the driver, and its CUDA as NVML counts it.
    pub driver: &'static str,
    pub cuda: u64,
}

pub struct Clocks {
    pub idle: u32,
    pub max: u32,
}

pub struct Power {
    pub idle: f64,
    pub min: u32,
    pub limit: u32,
}

/// Without a profile: no card that exists.
pub const STAND_IN: Profile = Profile {
    key: "",
    name: "NVIDIA Stand-in 80GB",
    pci: 0,
    compute: (9, 0),
    memory: 80 << 10,
    reserved: 0,
    sm: Clocks { idle: 345, max: 1980 },
    memory_clock: 2619,
    application_clock: Ok(1980),
    power: Power { idle: 71.5, min: 200, limit: 700 },
    pcie_generation: 5,
    has_mig: true,
    temperature: 34,
    driver: "550.54.15",
    cuda: 12_040,
};

pub const PROFILES: [Profile; 8] = [
    Profile {
        key: "t4",
        name: "Tesla T4",
        pci: 0x1EB8_10DE,
        compute: (7, 5),
        memory: 15_360,
        reserved: 448,
        sm: Clocks { idle: 1590, max: 1590 },
        memory_clock: 5001,
        application_clock: Err(DEPRECATED),
        power: Power { idle: 33.5, min: 60, limit: 70 },
        pcie_generation: 3,
        has_mig: false,
        temperature: 33,
        driver: "595.91.07",
        cuda: 13_020,
    },
    Profile {
        key: "a10",
        name: "NVIDIA A10",
        pci: 0x2236_10DE,
        compute: (8, 6),
        memory: 23_028,
        reserved: 0,
        sm: Clocks { idle: 210, max: 1695 },
        memory_clock: 6251,
        application_clock: Ok(1695),
        power: Power { idle: 23.0, min: 100, limit: 150 },
        pcie_generation: 4,
        has_mig: false,
        temperature: 33,
        driver: "550.54.15",
        cuda: 12_040,
    },
    Profile {
        key: "l4",
        name: "NVIDIA L4",
        pci: 0x27B8_10DE,
        compute: (8, 9),
        memory: 23_034,
        reserved: 434,
        sm: Clocks { idle: 2040, max: 2040 },
        memory_clock: 6251,
        application_clock: Ok(2040),
        power: Power { idle: 27.2, min: 40, limit: 72 },
        pcie_generation: 4,
        has_mig: false,
        temperature: 45,
        driver: "555.42.06",
        cuda: 12_050,
    },
    Profile {
        key: "l40s",
        name: "NVIDIA L40S",
        pci: 0x26B9_10DE,
        compute: (8, 9),
        memory: 46_068,
        reserved: 609,
        sm: Clocks { idle: 2040, max: 2520 },
        memory_clock: 9001,
        application_clock: Err(DEPRECATED),
        power: Power { idle: 65.6, min: 100, limit: 350 },
        pcie_generation: 4,
        has_mig: false,
        temperature: 29,
        driver: "595.91.07",
        cuda: 13_020,
    },
    Profile {
        key: "a100",
        name: "NVIDIA A100-SXM4-40GB",
        pci: 0x20B0_10DE,
        compute: (8, 0),
        memory: 40_960,
        reserved: 518,
        sm: Clocks { idle: 210, max: 1410 },
        memory_clock: 1215,
        application_clock: Ok(1095),
        power: Power { idle: 49.7, min: 100, limit: 400 },
        pcie_generation: 4,
        has_mig: true,
        temperature: 33,
        driver: "570.148.08",
        cuda: 12_080,
    },
    Profile {
        key: "h100",
        name: "NVIDIA H100 80GB HBM3",
        pci: 0x2330_10DE,
        compute: (9, 0),
        memory: 81_559,
        reserved: 480,
        sm: Clocks { idle: 345, max: 1980 },
        memory_clock: 2619,
        application_clock: Ok(1980),
        power: Power { idle: 68.6, min: 200, limit: 700 },
        pcie_generation: 5,
        has_mig: true,
        temperature: 29,
        driver: "580.105.08",
        cuda: 13_000,
    },
    Profile {
        key: "h200",
        name: "NVIDIA H200",
        pci: 0x2335_10DE,
        compute: (9, 0),
        memory: 143_771,
        reserved: 0,
        sm: Clocks { idle: 345, max: 1980 },
        memory_clock: 3201,
        application_clock: Ok(1980),
        power: Power { idle: 76.0, min: 200, limit: 700 },
        pcie_generation: 5,
        has_mig: true,
        temperature: 31,
        driver: "550.54.15",
        cuda: 12_040,
    },
    Profile {
        key: "b200",
        name: "NVIDIA B200",
        pci: 0x2901_10DE,
        compute: (10, 0),
        memory: 183_359,
        reserved: 728,
        sm: Clocks { idle: 120, max: 1965 },
        memory_clock: 3996,
        application_clock: Ok(1965),
        power: Power { idle: 195.7, min: 200, limit: 1000 },
        pcie_generation: 5,
        has_mig: true,
        temperature: 39,
        driver: "580.105.08",
        cuda: 13_000,
    },
];

/// By its key, or the stand-in without one.
pub fn named(key: Option<&str>) -> &'static Profile {
    match key {
        None => &STAND_IN,
        Some(key) => PROFILES.iter().find(|profile| profile.key == key).expect("one of the profiles"),
    }
}
