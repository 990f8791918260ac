//! Where a benchmark's processes run, unless on the host.

/// Where a command runs that is not to run on the host itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    pub image: String,
    /// `None`: docker where it is on PATH, else podman.
    pub runtime: Option<ContainerRuntime>,
    /// Whether it may reach the network; off unless the file says so.
    pub network: bool,
    /// As the runtime takes it: `all`, `device=0`; `None`: none.
    pub gpus: Option<String>,
    /// More words for the runtime, before the image.
    pub options: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::EnumIter)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum ContainerRuntime {
    Docker,
    Podman,
}
