//! The throttle state of a card, provided by crates that can ask the driver.

/// The state of the card at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ThrottleState {
    /// Reasons of heat and power, in NVML's names in lower case.
    pub reasons: Vec<String>,
    /// A power limit lowers the clocks, which is normal operation.
    pub by_power: bool,
    /// Hardware lowers the clocks, for heat or for its power supply.
    pub by_hardware: bool,
    /// The driver reports a slowdown by hardware without its cause, as it also does while the clocks change.
    pub perhaps_by_hardware: bool,
    /// Nanoseconds so far in which power and heat lowered the clocks.
    pub held_ns: [u64; 2],
    /// Joules so far, by the card's counter; `None` if it does not count, or for a part of a card.
    pub joules: Option<f64>,
}

/// Reads the current state; `None`: unknown.
pub type ThrottleLook = Box<dyn FnMut() -> Option<ThrottleState>>;

/// Opens the state of the card with this UUID, in NVML's form, of a slice's card, or of all cards. `None`: not available.
pub type OpenLook = fn(Option<&str>) -> Option<ThrottleLook>;
