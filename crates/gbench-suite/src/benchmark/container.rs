//! The container of a benchmark's processes.

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    pub image: String,
    /// `None`: docker where it is on PATH, else podman.
    pub runtime: Option<ContainerRuntime>,
    pub network: bool,
    /// As the runtime expects it: `all`, `device=0`.
    pub gpus: Option<String>,
    pub options: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::EnumIter)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum ContainerRuntime {
    Docker,
    Podman,
}
