//! AMD's programs: `amd-smi metric --json`, and the older `rocm-smi --json`.
//!
//! <https://rocm.docs.amd.com/projects/amdsmi/en/latest/how-to/amdsmi-cli-tool.html>. Keys and nesting differ by
//! version, so each figure is looked up under all its known names.

use serde_json::{Map, Value};

use crate::machine::gpu_reading::{GpuReading, GpuState};

pub(super) const AMD_SMI: &[&str] = &["metric", "--json"];

pub(super) const ROCM_SMI: &[&str] = &[
    "--showuniqueid",
    "--showproductname",
    "--showuse",
    "--showpower",
    "--showtemp",
    "--showclocks",
    "--showmeminfo",
    "vram",
    "--json",
];

pub(super) fn read_amd_smi(text: &str) -> Option<Vec<GpuReading>> {
    let document: Value = serde_json::from_str(text).ok()?;
    // Newer versions wrap the list in an object.
    let list = document.as_array().or_else(|| document["gpu_data"].as_array())?;
    Some(list.iter().filter_map(amd_gpu).collect())
}

fn amd_gpu(gpu: &Value) -> Option<GpuReading> {
    let index = u32::try_from(gpu["gpu"].as_u64()?).ok()?;
    let figure = |paths: &[&str]| paths.iter().find_map(|path| quantity(gpu.pointer(path)?));
    let mebibytes = |paths: &[&str]| figure(paths).map(|value| (value * 1_048_576.0) as u64);
    let state = GpuState {
        sm_clock: figure(&["/clock/gfx_0/clk", "/clock/gfx/clk"]),
        memory_clock: figure(&["/clock/mem_0/clk", "/clock/mem/clk"]),
        power: figure(&["/power/socket_power", "/power/current_socket_power", "/power/average_socket_power"]),
        energy: figure(&["/energy/total_energy_consumption"]),
        temperature: figure(&["/temperature/hotspot", "/temperature/edge"]),
        utilization: figure(&["/usage/gfx_activity"]),
        memory_used: mebibytes(&["/mem_usage/used_vram"]),
        memory_total: mebibytes(&["/mem_usage/total_vram"]),
        pcie_width: figure(&["/pcie/width"]).map(|width| width as u32),
        pcie_max: [None; 2],
        ..GpuState::default()
    };
    Some(GpuReading { index, uuid: None, model: None, state: Ok(state) })
}

/// `{"value": 12, "unit": "W"}`, or the number alone. A missing figure is `"N/A"`.
fn quantity(value: &Value) -> Option<f64> {
    let number = value.get("value").unwrap_or(value);
    number.as_f64().filter(|number| number.is_finite())
}

pub(super) fn read_rocm_smi(text: &str) -> Option<Vec<GpuReading>> {
    // Warnings may precede the object.
    let document: Map<String, Value> = serde_json::from_str(&text[text.find('{')?..]).ok()?;
    Some(document.iter().filter_map(|(name, card)| rocm_card(name, card)).collect())
}

fn rocm_card(name: &str, card: &Value) -> Option<GpuReading> {
    let index = name.strip_prefix("card")?.parse().ok()?;
    let card = card.as_object()?;
    let text = |names: &[&str]| {
        let found = names.iter().find_map(|name| card.get(*name)?.as_str());
        found.filter(|text| !text.is_empty() && *text != "N/A")
    };
    let number = |names: &[&str]| text(names)?.parse::<f64>().ok().filter(|number| number.is_finite());
    // `(800Mhz)`
    let clock = |name: &str| text(&[name])?.trim_matches(['(', ')']).strip_suffix("Mhz")?.parse().ok();
    let bytes = |name: &str| text(&[name])?.parse().ok();
    let state = GpuState {
        sm_clock: clock("sclk clock speed:"),
        memory_clock: clock("mclk clock speed:"),
        power: number(&["Current Socket Graphics Package Power (W)", "Average Graphics Package Power (W)"]),
        temperature: number(&["Temperature (Sensor junction) (C)", "Temperature (Sensor edge) (C)"]),
        utilization: number(&["GPU use (%)"]),
        memory_used: bytes("VRAM Total Used Memory (B)"),
        memory_total: bytes("VRAM Total Memory (B)"),
        ..GpuState::default()
    };
    let model = text(&["Card Series", "Card series", "Card Model", "Card model"]).map(str::to_owned);
    Some(GpuReading { index, uuid: text(&["Unique ID"]).map(str::to_owned), model, state: Ok(state) })
}
