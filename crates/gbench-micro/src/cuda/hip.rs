//! AMD's cards: the HIP runtime replaces NVIDIA's driver, and hiprtc NVRTC. Their functions have other names and the same
//! parameters. Both are loaded at run time.
//!
//! Names, parameters and numbers are those of `hip_runtime_api.h` of HIP 5.2 and 6; the numbers asked for here are the same in
//! both. No card has ever run this.

use std::env;
use std::ffi::{CStr, c_char, c_int, c_uint};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use libloading::Library;

use super::error::CudaError;
use gbench_model::{KernelArgument, KernelCall, KernelLaunch};

/// Versions whose functions are known, the newest first.
const VERSIONS: [u32; 3] = [7, 6, 5];

/// A code of `hipError_t`.
type Code = c_uint;

static USED: AtomicBool = AtomicBool::new(false);

/// From now on this process uses the HIP runtime in place of CUDA.
pub(super) fn switch_to() {
    USED.store(true, Ordering::Relaxed);
}

pub(super) fn is_used() -> bool {
    USED.load(Ordering::Relaxed)
}

/// True for a source that hiprtc compiles.
pub(super) fn is_source(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "hip")
}

/// Errors: what the call asks for is not there on AMD's cards, or not in HIP.
pub(super) fn check_call(call: &KernelCall) -> Result<(), CudaError> {
    let launches = [Some(call.launch), call.reference.as_ref().map(|it| it.launch)];
    let any = |asks: fn(&KernelLaunch) -> bool| launches.iter().flatten().any(asks);
    let is_map = |it: &KernelArgument| matches!(it, KernelArgument::TensorMap { .. });
    let what = if any(|it| it.cluster.is_some()) {
        "`cluster`"
    } else if any(|it| it.cooperative) {
        "`cooperative`"
    } else if call.sustained.is_some() {
        "`sustained`"
    } else if call.arguments.iter().any(is_map) {
        "`tensor_map`"
    } else {
        return Ok(());
    };
    Err(CudaError::NotOnHip { what })
}

fn runtime() -> Result<&'static (Library, PathBuf), CudaError> {
    static RUNTIME: OnceLock<Option<(Library, PathBuf)>> = OnceLock::new();
    // SAFETY: opening the library runs its initialisers, which is what it is there for.
    let open = |path: PathBuf| unsafe { Library::new(&path) }.ok().map(|library| (library, path));
    let find = || {
        let names = VERSIONS.map(|version| format!("libamdhip64.so.{version}"));
        names.iter().flat_map(|name| places(name)).find_map(open)
    };
    RUNTIME.get_or_init(find).as_ref().ok_or(CudaError::NoHip)
}

pub(super) fn library() -> Result<&'static Library, CudaError> {
    runtime().map(|(library, _)| library)
}

/// The loader's path, and the folder of ROCm.
fn places(name: &str) -> Vec<PathBuf> {
    let home =
        env::var_os("ROCM_PATH").filter(|home| !home.is_empty()).map_or("/opt/rocm".into(), PathBuf::from);
    vec![name.into(), home.join("lib").join(name)]
}

/// Possible paths of the compiler, of the runtime's own major version. Before 5.3 its functions are in the runtime itself.
pub(super) fn compilers() -> Result<Vec<PathBuf>, CudaError> {
    let (_, runtime) = runtime()?;
    let of_runtime = runtime.to_string_lossy();
    let version = of_runtime.rsplit('.').next().unwrap_or_default();
    let mut found = places(&format!("libhiprtc.so.{version}"));
    found.push(runtime.clone());
    Ok(found)
}

/// The runtime's functions for the name and the text of a code. `None`: another library.
pub(super) struct Said(Option<[unsafe extern "C" fn(Code) -> *const c_char; 2]>);

impl Said {
    pub(super) fn load(library: &Library) -> Self {
        // SAFETY: the type is that of `hip_runtime_api.h` for these names.
        let find = |name: &str| unsafe { library.get(name.as_bytes()) }.ok().map(|function| *function);
        Self(find("hipGetErrorName").zip(find("hipGetErrorString")).map(|(name, text)| [name, text]))
    }

    pub(super) fn of(&self, code: Code) -> [Option<String>; 2] {
        let of = |ask: unsafe extern "C" fn(Code) -> *const c_char| {
            // SAFETY: the function takes any number, and gives a text that ends in NUL and that it keeps.
            let text = unsafe { ask(code) };
            // SAFETY: as above.
            (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
        };
        self.0.map_or([None, None], |ask| ask.map(of))
    }
}

/// The architecture of a device: `gfx942`, also with features, `gfx90a:sramecc+:xnack-`. `None`: the runtime does not tell.
///
/// The struct that contains it has different layouts in different versions, so the text is searched for.
pub(super) fn arch(device: c_int) -> Option<String> {
    /// More than any version writes.
    const ROOM: usize = 8192;
    let library = library().ok()?;
    type Fill = unsafe extern "C" fn(*mut u64, c_int) -> Code;
    // SAFETY: the type is that of `hip_runtime_api.h` for these names; from version 6 on the second fills in an older struct.
    let find = |name: &str| unsafe { library.get::<Fill>(name.as_bytes()) }.ok();
    let function = find("hipGetDevicePropertiesR0600").or_else(|| find("hipGetDeviceProperties"))?;
    let mut words = vec![0_u64; ROOM / size_of::<u64>()];
    // SAFETY: room for the struct, aligned as it must be.
    if unsafe { function(words.as_mut_ptr(), device) } != 0 {
        return None;
    }
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    arch_in(&bytes)
}

/// The text behind the name of the card, which is first and might begin in the same way.
fn arch_in(properties: &[u8]) -> Option<String> {
    const NAME: usize = 256;
    let mut texts = properties.get(NAME..)?.split(|byte| *byte == 0);
    let text = texts.find(|text| text.starts_with(b"gfx") && text.is_ascii())?;
    Some(String::from_utf8_lossy(text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b35_the_architecture_is_found_in_every_layout() {
        for place in [396, 1160] {
            let mut properties = vec![0; 1472];
            properties[..7].copy_from_slice(b"gfx unit"[..7].try_into().unwrap());
            properties[300] = 7;
            properties[place..place + 22].copy_from_slice(b"gfx90a:sramecc+:xnack-");
            assert_eq!(arch_in(&properties).as_deref(), Some("gfx90a:sramecc+:xnack-"));
        }
        assert_eq!((arch_in(&[0; 1472]), arch_in(&[])), (None, None));
    }
}
