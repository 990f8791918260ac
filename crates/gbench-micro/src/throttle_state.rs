//! What holds a card's clocks down, as those tell it who can ask the driver.

/// The state of the card at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ThrottleState {
    /// Reasons of heat and power, in NVML's words in lower case.
    pub reasons: Vec<String>,
    /// Whether a limit of power holds clocks down, which is how a card works.
    pub by_power: bool,
    /// Whether hardware itself does it, for heat, for its power supply or a fault.
    pub by_hardware: bool,
    /// Nanoseconds in which power and heat held clocks down, so far.
    pub held_ns: [u64; 2],
}

/// Looks at the state again and again; `None`: it cannot be told.
pub type ThrottleLook = Box<dyn FnMut() -> Option<ThrottleState>>;

/// Opens what tells the state of the card with this UUID, as NVML writes it; of all cards where it is not known among them. `None`:
/// nothing can.
pub type OpenLook = fn(Option<&str>) -> Option<ThrottleLook>;
