//! A machine with a GPU that is none: the stand-ins for the driver and its management library, the real compiler, and the suite's kernels
//! as twins on the CPU.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use super::built::built;
use super::cli::command;
use super::tools;
use crate::{fake_cuda, fake_nvml};

/// Environment of a gate that meets the stand-ins.
#[derive(Clone)]
pub struct StandIn {
    cuda_home: PathBuf,
    driver: &'static str,
    /// In place of the driver's folder.
    libraries: Option<PathBuf>,
    twins: String,
    settings: String,
    file: Option<PathBuf>,
    nvml: String,
    counts_energy: bool,
}

impl StandIn {
    /// One healthy card with a computed clock. `None` without the compiler of kernels or one of C++, of which a line tells.
    pub fn new() -> Option<Self> {
        let cuda_home = tools::cuda()?;
        Some(Self {
            cuda_home,
            driver: "",
            libraries: None,
            twins: suite_twins()?.to_owned(),
            settings: "clock=virtual".into(),
            file: None,
            nvml: "count=1".into(),
            counts_energy: false,
        })
    }

    /// With more settings of the driver's stand-in (`tests/fake_cuda/cuda.rs`).
    pub fn with(mut self, settings: &str) -> Self {
        self.settings = format!("{} {settings}", self.settings);
        self
    }

    /// Settings are read from this file in each process's folder, too.
    pub fn with_file(mut self, file: &str) -> Self {
        self.file = Some(file.into());
        self
    }

    /// With twins besides those of the suite: a path, or several with colons between them.
    pub fn with_twins(mut self, twins: &str) -> Self {
        self.twins = format!("{twins}:{}", self.twins);
        self
    }

    /// Settings of the management library's stand-in (`tests/fake_nvml/nvml.rs`).
    pub fn with_nvml(mut self, settings: &str) -> Self {
        self.nvml = settings.into();
        self
    }

    /// The card has a counter of its energy, which the gate's own programs read for more than a second.
    pub fn counting_energy(mut self) -> Self {
        self.counts_energy = true;
        self
    }

    /// The driver of another time: see [`fake_cuda::library`].
    pub fn with_driver(mut self, cfg: &'static str) -> Self {
        self.driver = cfg;
        self
    }

    /// The card is AMD's: `folder` gets the libraries of HIP.
    pub fn on_hip(mut self, folder: &Path, compiler: Option<&Path>) -> Self {
        let link = |to: &Path, name: &str| std::os::unix::fs::symlink(to, folder.join(name)).unwrap();
        link(&fake_cuda::library(self.driver), "libamdhip64.so.6");
        if let Some(compiler) = compiler {
            link(compiler, "libhiprtc.so.6");
        }
        self.libraries = Some(folder.to_owned());
        self
    }

    /// The gate in a folder, on this machine.
    pub fn command(&self, folder: &Path, line: &str) -> Command {
        let mut command = command(folder, line);
        self.equip(&mut command);
        match &self.libraries {
            Some(folder) => command.env("LD_LIBRARY_PATH", folder),
            None => command.env("LD_LIBRARY_PATH", fake_cuda::library(self.driver).parent().unwrap()),
        };
        command
    }

    /// The same without a CUDA driver.
    pub fn command_without_driver(&self, folder: &Path, line: &str) -> Command {
        let mut command = command(folder, line);
        self.equip(&mut command);
        command.env("LD_LIBRARY_PATH", folder);
        command
    }

    fn equip(&self, command: &mut Command) {
        for name in [
            "CUDA_VISIBLE_DEVICES",
            "VIRTUAL_ENV",
            "CONDA_PREFIX",
            "CUDA_PATH",
            "GBENCH_CUBINS",
            "GBENCH_NVRTC",
            "ROCM_PATH",
        ] {
            command.env_remove(name);
        }
        let nvml = if self.counts_energy { self.nvml.clone() } else { format!("{} energy=!3", self.nvml) };
        // A machine with a card of AMD's has no management library of NVIDIA's.
        let library = if self.libraries.is_some() { "/none".into() } else { fake_nvml::library("") };
        command.env("GBENCH_NVML_LIBRARY", library).env("FAKE_NVML", nvml);
        command.env("CUDA_HOME", &self.cuda_home);
        command.env("FAKE_CUDA", &self.settings).env("FAKE_CUDA_TWINS", &self.twins);
        match &self.file {
            Some(file) => command.env("FAKE_CUDA_FILE", file),
            None => command.env_remove("FAKE_CUDA_FILE"),
        };
    }
}

/// Where the suite's kernels are kept for `GBENCH_CUBINS`: compiled by the first test that needs them.
pub fn cubins() -> &'static Path {
    static CUBINS: OnceLock<PathBuf> = OnceLock::new();
    CUBINS.get_or_init(|| built("cubins", &[&kernels()], "", |_| ()))
}

fn kernels() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/gbench-micro/src/cuda/kernels")
}

/// `FAKE_CUDA_TWINS` for the kernels of the suite: one library an element type. `None` without a C++ compiler.
fn suite_twins() -> Option<&'static str> {
    static TWINS: OnceLock<Option<String>> = OnceLock::new();
    TWINS.get_or_init(build_twins).as_deref()
}

fn build_twins() -> Option<String> {
    let compiler = std::env::var_os("CXX").unwrap_or_else(|| "c++".into());
    if Command::new(compiler).arg("--version").output().is_err() {
        tools::goes_without("there is no C++ compiler");
        return None;
    }
    let kernels = kernels();
    let stand_in = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake_cuda");
    let include = format!("-I{}", kernels.display());
    let typed = ["gemm", "layernorm", "gelu", "swish", "mse", "cross_entropy", "softmax", "sdpa"];
    let plain = ["support", "bandwidth", "latency", "atomics"];
    let defines = ["f32", "f16", "bf16"].map(|dtype| (dtype, format!("-DGB_DTYPE_{}", dtype.to_uppercase())));
    let folder = built("suite_twins", &[&kernels, &stand_in], &include, |folder| {
        let twin = |names: &[&str], name: &str, options: &[&str]| {
            // One file that includes all is compiled faster than each.
            let all = folder.join(format!("{name}.cu"));
            let line = |name: &&str| format!("#include \"{}.cu\"\n", kernels.join(name).display());
            std::fs::write(&all, names.iter().map(line).collect::<String>()).unwrap();
            fake_cuda::twins_of(&[&all], options, &folder.join(format!("{name}.so"))).unwrap();
        };
        for (dtype, define) in &defines {
            twin(&typed, dtype, &[define, &include]);
        }
        twin(&plain, "plain", &[&include]);
    });
    let place = |name: &str| folder.join(format!("{name}.so")).display().to_string();
    let twins = defines.iter().map(|(dtype, _)| format!("gb_dtype_{dtype}={}", place(dtype)));
    Some(twins.chain([place("plain")]).collect::<Vec<_>>().join(":"))
}
