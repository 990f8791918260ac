//! Compiles kernels to machine code with NVRTC, which is loaded at run time, or takes the code from a folder of earlier
//! results.
//!
//! Crate `cudarc` knows only NVRTC 12, provides no machine code, and panics if something is missing. Only eleven functions are
//! needed, so they are declared here.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::ptr;

use libloading::Library;
use serde::{Deserialize, Serialize};

use super::error::CudaError;
use super::{api, device, libraries};
use crate::spec::{Doing, MicroError};
use gbench_device_code as device_code;
use gbench_model::text::list;
use gbench_model::{CUBIN_FOLDER, DeviceCode, KernelCode, NVRTC_LIBRARY, sha256_hex};

type Result<T> = std::result::Result<T, CudaError>;

#[derive(Clone, Debug)]
pub(super) struct KernelSource {
    /// The file's name without its folder, for messages.
    pub name: String,
    pub text: String,
    /// In addition to the architecture.
    pub options: Vec<String>,
    /// Folders of headers, before the compiler's own.
    pub include: Vec<PathBuf>,
    /// Kernels by their names in the source, and variables as [`variable`] writes them.
    pub entries: Vec<String>,
}

/// A variable of the source, as the compiler takes its name.
pub(super) fn variable(name: &str) -> String {
    format!("&{name}")
}

impl KernelSource {
    pub(super) fn variables(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(String::as_str).filter(|entry| entry.starts_with('&'))
    }

    fn lacks(&self, entry: &str) -> CudaError {
        let file = self.name.clone();
        match entry.strip_prefix('&') {
            Some(name) => CudaError::NoVariable { file, name: name.into() },
            None => CudaError::NoEntry { file, entry: entry.into() },
        }
    }
}

/// Machine code that was parsed completely, and the compiler's notes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Compiled {
    pub cubin: Vec<u8>,
    pub about: CompilerNotes,
    /// Its kernels, with the spills, which only the compiler's log contains.
    pub code: DeviceCode,
}

impl Compiled {
    /// Errors: the code cannot be parsed completely. Such code is not passed to the driver, which trusts the sizes in it.
    fn new(cubin: Vec<u8>, about: CompilerNotes) -> std::result::Result<Self, device_code::CodeError> {
        let code = device_code::read(&cubin)?.pop().ok_or(device_code::CodeError::NoDeviceCode)?;
        let mut code = recorded(code);
        code.compiler = Some(about.compiler.clone());
        for (name, spills) in device_code::spills(&about.log) {
            if let Some(kernel) = code.kernels.get_mut(&name) {
                kernel.spill_store_bytes = Some(spills.store);
                kernel.spill_load_bytes = Some(spills.load);
            }
        }
        Ok(Self { cubin, about, code })
    }
}

/// The code of a file in the form of a record.
fn recorded(code: device_code::ArchCode) -> DeviceCode {
    let kernel = |kernel: device_code::ArchKernel| KernelCode {
        sha256: kernel.sha256,
        registers: kernel.registers,
        shared_bytes: kernel.shared_bytes,
        frame_bytes: kernel.frame_bytes,
        ..KernelCode::default()
    };
    DeviceCode {
        arch: code.arch,
        compiler: code.compiler,
        kernels: code.kernels.into_iter().map(|(name, code)| (name, kernel(code))).collect(),
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct CompilerNotes {
    /// `NVRTC 13.5`.
    pub compiler: String,
    /// Contains the registers, frames and spills of each kernel.
    pub log: String,
    /// Names in the machine code, by those in the source.
    pub names: BTreeMap<String, String>,
}

/// Compiles for a device, or takes the code that an earlier process of the run compiled.
///
/// Errors: no compiler, one that does not know the architecture, or compiler errors.
pub(super) fn compile(source: &KernelSource, arch: &str, cuda_version: u32) -> Result<Compiled> {
    let kept = env::var_os(CUBIN_FOLDER).map(|folder| Kept::new(Path::new(&folder), source, arch));
    if let Some(found) = kept.as_ref().and_then(Kept::read) {
        return Ok(found);
    }
    let compiled = Nvrtc::load(cuda_version)?.compile(source, arch)?;
    if let Some(kept) = kept {
        // A full folder only costs the next process time.
        let _ = kept.write(&compiled);
    }
    Ok(compiled)
}

/// The compiler that a process on this machine would use, and the newest CUDA of its driver: `NVRTC 12.4, CUDA 12.4 in the
/// driver`. Loads both libraries and starts no work on a GPU.
///
/// Errors: no driver, or no compiler for it.
pub fn compiler_in_use() -> Result<String> {
    let cuda_version = device::cuda_version(api::api()?)?;
    let nvrtc = Nvrtc::load(cuda_version)?;
    Ok(format!("{}, CUDA {}.{} in the driver", nvrtc.name(), cuda_version / 1000, cuda_version % 1000 / 10))
}

/// Compiles sources for an architecture into a folder in which [`compile`] finds them; returns the path of each one's code.
///
/// Errors: as for [`compile`], or the folder cannot be written.
pub(super) fn compile_into(
    folder: &Path,
    sources: &[KernelSource],
    arch: &str,
) -> std::result::Result<Vec<(PathBuf, Compiled)>, MicroError> {
    let nvrtc = Nvrtc::load(u32::MAX)?;
    let compiled = sources.iter().map(|source| {
        let compiled = nvrtc.compile(source, arch)?;
        let kept = Kept::new(folder, source, arch);
        kept.write(&compiled).doing("writing machine code")?;
        Ok((kept.code, compiled))
    });
    compiled.collect()
}

/// The place of one compilation in the folder of a run. The key is the source text without its headers, which do not change
/// within a run.
struct Kept {
    code: PathBuf,
    about: PathBuf,
}

impl Kept {
    fn new(folder: &Path, source: &KernelSource, arch: &str) -> Self {
        let include: Vec<_> = source.include.iter().map(|it| it.to_string_lossy()).collect();
        let parts =
            [arch, &source.options.join("\n"), &include.join("\n"), &source.entries.join("\n"), &source.text];
        let key = sha256_hex(parts.join("\0").as_bytes());
        Self { code: folder.join(format!("{key}.cubin")), about: folder.join(format!("{key}.json")) }
    }

    /// Also `None` if it cannot be read; it is then compiled again.
    fn read(&self) -> Option<Compiled> {
        let about = serde_json::from_slice(&fs::read(&self.about).ok()?).ok()?;
        Compiled::new(fs::read(&self.code).ok()?, about).ok()
    }

    /// Atomic, since two processes may write at once.
    fn write(&self, compiled: &Compiled) -> io::Result<()> {
        let about = serde_json::to_vec(&compiled.about)?;
        for (path, bytes) in [(&self.code, &compiled.cubin), (&self.about, &about)] {
            let folder = path.parent().unwrap_or(Path::new("."));
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            file.write_all(bytes)?;
            file.persist(path)?;
        }
        Ok(())
    }
}

type Program = *mut c_void;
type Code = c_int;

/// The loaded compiler. Pointers to its functions are valid as long as the library, which stays open.
struct Nvrtc {
    version: (i32, i32),
    /// Folders of CUDA's headers.
    headers: Vec<PathBuf>,
    create: unsafe extern "C" fn(
        *mut Program,
        *const c_char,
        *const c_char,
        c_int,
        *const *const c_char,
        *const *const c_char,
    ) -> Code,
    destroy: unsafe extern "C" fn(*mut Program) -> Code,
    compile: unsafe extern "C" fn(Program, c_int, *const *const c_char) -> Code,
    add_name: unsafe extern "C" fn(Program, *const c_char) -> Code,
    lowered_name: unsafe extern "C" fn(Program, *const c_char, *mut *const c_char) -> Code,
    log_size: unsafe extern "C" fn(Program, *mut usize) -> Code,
    log: unsafe extern "C" fn(Program, *mut c_char) -> Code,
    code_size: unsafe extern "C" fn(Program, *mut usize) -> Code,
    code: unsafe extern "C" fn(Program, *mut c_char) -> Code,
    archs: Vec<i32>,
    _library: Library,
}

impl Nvrtc {
    /// The newest compiler whose machine code this driver supports, else the newest. `cuda_version`: the driver's, 12040 for
    /// 12.4.
    fn load(cuda_version: u32) -> Result<Self> {
        let candidates = candidates();
        let mut newer: Option<Self> = None;
        let mut broken = Vec::new();
        for path in &candidates {
            open_builtins(path);
            // SAFETY: opening the library runs its initialisers, which is what it is there for.
            let library = match unsafe { Library::new(path) } {
                Ok(library) => library,
                Err(error) if path.exists() => {
                    broken.push(error.to_string());
                    continue;
                }
                Err(_) => continue,
            };
            let Some(loaded) = Self::of(library, path) else { continue };
            if loaded.version.0.unsigned_abs() <= cuda_version / 1000 {
                return Ok(loaded);
            }
            newer.get_or_insert(loaded);
        }
        newer.ok_or_else(|| {
            let mut looked: Vec<String> = candidates.iter().map(|path| path.display().to_string()).collect();
            looked.dedup();
            looked.extend(broken);
            CudaError::NoCompiler { looked: list(&looked, 8) }
        })
    }

    /// `None` for a library that lacks a function: NVRTC before 11.2 provides no machine code.
    fn of(library: Library, path: &Path) -> Option<Self> {
        // SAFETY: the types are those of `nvrtc.h` for these names.
        unsafe {
            let version = library
                .get::<unsafe extern "C" fn(*mut c_int, *mut c_int) -> Code>(b"nvrtcVersion\0")
                .ok()?;
            let (mut major, mut minor) = (0, 0);
            if version(&mut major, &mut minor) != 0 {
                return None;
            }
            Some(Self {
                version: (major, minor),
                headers: headers(path),
                create: *library.get(b"nvrtcCreateProgram\0").ok()?,
                destroy: *library.get(b"nvrtcDestroyProgram\0").ok()?,
                compile: *library.get(b"nvrtcCompileProgram\0").ok()?,
                add_name: *library.get(b"nvrtcAddNameExpression\0").ok()?,
                lowered_name: *library.get(b"nvrtcGetLoweredName\0").ok()?,
                log_size: *library.get(b"nvrtcGetProgramLogSize\0").ok()?,
                log: *library.get(b"nvrtcGetProgramLog\0").ok()?,
                code_size: *library.get(b"nvrtcGetCUBINSize\0").ok()?,
                code: *library.get(b"nvrtcGetCUBIN\0").ok()?,
                archs: archs(&library),
                _library: library,
            })
        }
    }

    fn name(&self) -> String {
        format!("NVRTC {}.{}", self.version.0, self.version.1)
    }

    fn compile(&self, source: &KernelSource, arch: &str) -> Result<Compiled> {
        let number = arch.strip_prefix("sm_").and_then(|number| number.trim_end_matches('a').parse().ok());
        if !self.archs.is_empty() && number.is_some_and(|number| !self.archs.contains(&number)) {
            let (major, minor) = self.version;
            return Err(CudaError::OldCompiler { version: format!("{major}.{minor}"), arch: arch.into() });
        }
        let program = Compilation::new(self, source)?;
        let failed = |log: String| CudaError::Compile { file: source.name.clone(), arch: arch.into(), log };
        for entry in &source.entries {
            let entry = c_text(entry).ok_or_else(|| failed(format!("`{entry}` is not a valid name")))?;
            // SAFETY: the program lives, and the text ends in NUL. A name that is wrong is an error of the compilation.
            unsafe { (self.add_name)(program.handle, entry.as_ptr()) };
        }
        let mut options = vec![format!("--gpu-architecture={arch}"), "--ptxas-options=-v".into()];
        options.extend(source.options.iter().cloned());
        let folders = source.include.iter().chain(&self.headers);
        options.extend(folders.map(|folder| format!("--include-path={}", folder.display())));
        let options: Vec<CString> = options.iter().filter_map(|option| c_text(option)).collect();
        let pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        // SAFETY: the program lives, and so many texts that end in NUL.
        let code = unsafe { (self.compile)(program.handle, pointers.len() as c_int, pointers.as_ptr()) };
        let log = program.text(self.log_size, self.log);
        if code != 0 {
            return Err(match unknown_entry(&log, &source.entries) {
                Some(entry) => source.lacks(entry),
                None => failed(telling(&log).unwrap_or_else(|| format!("error {code}"))),
            });
        }
        let mut names = BTreeMap::new();
        for entry in &source.entries {
            let lowered = program.lowered(entry).ok_or_else(|| source.lacks(entry))?;
            names.insert(entry.clone(), lowered);
        }
        let cubin = program.bytes(self.code_size, self.code);
        Compiled::new(cubin, CompilerNotes { compiler: self.name(), log, names })
            .map_err(|error| CudaError::Code { kernel: source.name.clone(), what: error.to_string() })
    }
}

/// The entry that the source lacks, if the log reports that: the compiler checks names in a separate file after the source,
/// `__nv_name_map`, sorted, one per line from the second on (seen with 11.8 and 13.5).
fn unknown_entry<'s>(log: &str, entries: &'s [String]) -> Option<&'s str> {
    let line = telling(log)?;
    let (number, _) = line.strip_prefix("__nv_name_map(")?.split_once(')')?;
    let sorted: BTreeSet<&str> = entries.iter().map(String::as_str).collect();
    sorted.into_iter().nth(number.parse::<usize>().ok()?.checked_sub(2)?)
}

/// The log from its first error on; figures and warnings precede it.
fn telling(log: &str) -> Option<String> {
    let lines: Vec<&str> = log.lines().map(str::trim_end).filter(|line| !line.trim().is_empty()).collect();
    let first = lines.iter().position(|line| line.contains("error")).unwrap_or(0);
    (!lines.is_empty()).then(|| lines[first..].join("\n"))
}

struct Compilation<'n> {
    nvrtc: &'n Nvrtc,
    handle: Program,
}

impl Drop for Compilation<'_> {
    fn drop(&mut self) {
        // SAFETY: made by this compiler, destroyed once.
        unsafe { (self.nvrtc.destroy)(&mut self.handle) };
    }
}

type Size = unsafe extern "C" fn(Program, *mut usize) -> Code;
type Content = unsafe extern "C" fn(Program, *mut c_char) -> Code;

impl<'n> Compilation<'n> {
    fn new(nvrtc: &'n Nvrtc, source: &KernelSource) -> Result<Self> {
        let failed = |log: &str| CudaError::Compile {
            file: source.name.clone(),
            arch: String::new(),
            log: log.into(),
        };
        let text = c_text(&source.text).ok_or_else(|| failed("it holds a NUL"))?;
        let name = c_text(&source.name).unwrap_or_default();
        let mut handle: Program = ptr::null_mut();
        // SAFETY: a place for the handle, two texts that end in NUL, and no headers.
        let code =
            unsafe { (nvrtc.create)(&mut handle, text.as_ptr(), name.as_ptr(), 0, ptr::null(), ptr::null()) };
        if code == 0 { Ok(Self { nvrtc, handle }) } else { Err(failed(&format!("error {code}"))) }
    }

    /// Empty if the compiler provides none.
    fn bytes(&self, size: Size, content: Content) -> Vec<u8> {
        let mut length = 0;
        // SAFETY: the program lives, and a place for the number.
        if unsafe { size(self.handle, &mut length) } != 0 {
            return Vec::new();
        }
        let mut bytes = vec![0_u8; length];
        // SAFETY: room for as many bytes as the compiler has just said.
        unsafe { content(self.handle, bytes.as_mut_ptr().cast()) };
        bytes
    }

    fn text(&self, size: Size, content: Content) -> String {
        let bytes = self.bytes(size, content);
        String::from_utf8_lossy(bytes.strip_suffix(&[0]).unwrap_or(&bytes)).into_owned()
    }

    fn lowered(&self, entry: &str) -> Option<String> {
        let entry = c_text(entry)?;
        let mut name = ptr::null();
        // SAFETY: the program is compiled and lives; the answer is a separate text that ends in NUL.
        unsafe {
            let code = (self.nvrtc.lowered_name)(self.handle, entry.as_ptr(), &mut name);
            (code == 0 && !name.is_null()).then(|| CStr::from_ptr(name).to_string_lossy().into_owned())
        }
    }
}

fn c_text(text: &str) -> Option<CString> {
    CString::new(text).ok()
}

/// Numbers of the architectures that it supports; empty if it does not report them.
fn archs(library: &Library) -> Vec<i32> {
    // SAFETY: the types are those of `nvrtc.h`; room for as many numbers as the first call says.
    unsafe {
        let count = library.get::<unsafe extern "C" fn(*mut c_int) -> Code>(b"nvrtcGetNumSupportedArchs\0");
        let list = library.get::<unsafe extern "C" fn(*mut c_int) -> Code>(b"nvrtcGetSupportedArchs\0");
        let (Ok(count), Ok(list)) = (count, list) else { return Vec::new() };
        let mut number = 0;
        if count(&mut number) != 0 || number < 1 {
            return Vec::new();
        }
        let mut archs = vec![0; number as usize];
        if list(archs.as_mut_ptr()) == 0 { archs } else { Vec::new() }
    }
}

/// Names of the library in toolkits and packages, the newest first.
const NAMES: [&str; 4] = ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"];

/// Folders in Python packages, below `nvidia`.
const PACKAGES: [&str; 2] = ["cu13/lib", "cuda_nvrtc/lib"];

/// Possible paths of the compiler: the named one, else every folder of NVIDIA's libraries.
fn candidates() -> Vec<PathBuf> {
    match env::var_os(NVRTC_LIBRARY).filter(|name| !name.is_empty()) {
        Some(named) => vec![named.into()],
        None => libraries::candidates(&NAMES, &PACKAGES),
    }
}

/// Opens `libnvrtc-builtins` next to the compiler, which later looks for it by name and finds the open library. Python
/// packages put neither into the loader's path.
fn open_builtins(path: &Path) {
    let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) else { return };
    let is_it = |name: &str| name.starts_with("libnvrtc-builtins.so") && !name.contains(".alt.");
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    for file in files.filter(|file| is_it(&file.file_name().to_string_lossy())) {
        // SAFETY: as of the compiler itself.
        if let Ok(library) = unsafe { Library::new(file.path()) } {
            // Stays open for the compiler.
            std::mem::forget(library);
        }
    }
}

/// Folders of headers such as `cuda_fp16.h` for a compiler at `path`: in a toolkit, in the packages of CUDA 13 and 12.
fn headers(path: &Path) -> Vec<PathBuf> {
    let mut places = Vec::new();
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        places.extend(
            ["../include", "../../cuda_runtime/include", "../../cuda_crt/include", "../../cuda_nvcc/include"]
                .map(|it| folder.join(it)),
        );
    }
    places.extend(libraries::toolkits().map(|home| home.join("include")));
    places.retain(|place| place.join("cuda_fp16.h").exists() || place.join("crt/mma.h").exists());
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_begins_with_its_first_error() {
        let log = "k.cu(1): warning #177-D: unused\nptxas info : 0 bytes gmem\nptxas error : too much shared data\nptxas fatal : stopped\n";
        assert_eq!(telling(log).unwrap(), "ptxas error : too much shared data\nptxas fatal : stopped");
        assert_eq!(telling("odd words\n").unwrap(), "odd words");
        assert_eq!(telling(" \n"), None);
    }

    #[test]
    fn a_name_that_the_source_does_not_have_is_known_by_its_line() {
        let entries = ["zz".to_owned(), "a".to_owned()];
        let log = "__nv_name_map(3): error: identifier \"zz\" is undefined\n  #pragma nv_mangled_name zz\n";
        assert_eq!(unknown_entry(log, &entries), Some("zz"));
        assert_eq!(unknown_entry("k.cu(3): error: identifier \"zz\" is undefined", &entries), None);
        assert_eq!(unknown_entry("__nv_name_map(9): error: odd", &entries), None);
    }
}
