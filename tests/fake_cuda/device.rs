//! What the device says of itself. The usual one has the numbers of an 80 GB card of compute capability 9.0.

use crate::INVALID_VALUE;
use crate::settings::Settings;

/// The devices that `CUDA_VISIBLE_DEVICES` leaves, by their number in the machine: numbers, or the start of a UUID, in NVML's
/// form or as `tests/fake_nvml` writes it (`GPU-0000-1`). The first that does not exist ends the list.
pub fn visible(count: usize) -> Vec<usize> {
    let Ok(list) = std::env::var("CUDA_VISIBLE_DEVICES") else { return (0..count).collect() };
    let find = |text: &str| {
        let number = text.parse::<usize>().ok();
        (0..count).find(|device| {
            let long = text.starts_with("GPU-") && uuid_text(&usual_uuid(*device)).starts_with(text);
            number == Some(*device) || long || text == format!("GPU-0000-{}", device + 1)
        })
    };
    list.split(',').map_while(|text| find(text.trim())).collect()
}

fn usual_uuid(device: usize) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[15] = device as u8 + 1;
    bytes
}

/// As NVML writes it.
fn uuid_text(bytes: &[u8; 16]) -> String {
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("GPU-{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

pub fn uuid(settings: &Settings, device: usize) -> [u8; 16] {
    let mut bytes = usual_uuid(device);
    if let Some(text) = settings.of_device("uuid", device) {
        let digits: String = text.chars().filter(char::is_ascii_hexdigit).collect();
        for (byte, pair) in bytes.iter_mut().zip(digits.as_bytes().chunks(2)) {
            *byte = std::str::from_utf8(pair)
                .ok()
                .and_then(|pair| u8::from_str_radix(pair, 16).ok())
                .unwrap_or(0);
        }
    }
    bytes
}

/// A setting cannot hold a blank: an underscore stands for it.
pub fn name(settings: &Settings, device: usize) -> String {
    settings.of_device("name", device).unwrap_or("NVIDIA_Stand-in_80GB").replace('_', " ")
}

pub fn pci(settings: &Settings, device: usize) -> String {
    settings.of_device("pci", device).map_or_else(|| format!("0000:{:02X}:00.0", device + 1), str::to_owned)
}

/// 90 for compute capability 9.0.
pub fn sm(settings: &Settings, device: usize) -> u32 {
    settings.size_of_device("sm", device, 90) as u32
}

/// The most that a block may have of shared memory, where its kernel was told so.
pub fn most_shared(settings: &Settings, device: usize) -> u32 {
    settings.size_of_device("shared_optin", device, 232_448) as u32
}

/// A `CUdevice_attribute`; 0 for one that says nothing here.
pub fn attribute(settings: &Settings, device: usize, attribute: i32) -> Result<i32, u32> {
    /// The first number behind the last of `cuda.h` 13.5.
    const END: i32 = 161;
    if !(1..END).contains(&attribute) {
        return Err(INVALID_VALUE);
    }
    let own = settings.text(&format!("attribute.{attribute}"));
    if let Some(value) = own.and_then(|text| text.parse().ok()) {
        return Ok(value);
    }
    let of = |key: &str, usual: u64| settings.size_of_device(key, device, usual) as i32;
    let sm = sm(settings, device) as i32;
    Ok(match attribute {
        1 => 1024,                                                 // threads of a block
        2 | 3 => 1024,                                             // of its x and y
        4 => 64,                                                   // of its z
        5 => i32::MAX,                                             // blocks of a grid's x
        6 | 7 => 65_535,                                           // of its y and z
        8 => 49_152,                                               // shared memory of a block
        9 => 65_536,                                               // constant memory
        10 => 32,                                                  // threads of a warp
        11 => i32::MAX,                                            // pitch
        12 | 82 => 65_536,                                         // registers of a block, of an SM
        13 => (settings.number("clock_mhz", 1980.0) * 1e3) as i32, // SM clock in kHz
        14 => 512,                                                 // alignment of textures
        15 => 1,                                                   // copies beside kernels
        16 => of("sms", 132),                                      // SMs
        19 | 31 | 32 | 41 | 78 | 79 | 80 | 83 | 89 | 90 | 92 | 93 | 95 | 96 | 115 => 1,
        33 => device as i32 + 1,                           // PCI bus
        36 => of("memory_clock_mhz", 2619) * 1000,         // memory clock in kHz
        37 => of("bus_bits", 5120),                        // width of the memory's bus
        38 => of("l2", 52_428_800),                        // L2 cache
        39 => 2048,                                        // threads of an SM
        40 => 3,                                           // copy engines
        75 => sm / 10,                                     // compute capability, major
        76 => sm % 10,                                     // minor
        81 => most_shared(settings, device) as i32 + 1024, // shared memory of an SM
        87 => 2,                                           // single to double precision
        97 => most_shared(settings, device) as i32,        // shared memory of a block that asks for it
        106 => 32,                                         // blocks of an SM
        108 => of("l2", 52_428_800) / 8 * 5,               // persisting part of the L2 cache
        109 => 134_217_728,                                // window of an access policy
        111 => 1024,                                       // shared memory that the system keeps of a block
        _ => 0,
    })
}
