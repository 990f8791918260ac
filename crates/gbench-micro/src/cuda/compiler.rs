//! Compiles kernels to machine code with NVRTC, which is loaded at run time, or takes the code from a folder of earlier
//! results.
//!
//! Crate `cudarc` knows only NVRTC 12, provides no machine code, and panics if something is missing. Only eleven functions are
//! needed, so they are declared here.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fs;
use std::path::{Path, PathBuf};
use std::ptr;

use libloading::Library;

use super::error::CudaError;
use super::machine_code::{Compiled, CompilerNotes, Kept, KernelSource};
use super::{api, device, hip, libraries, toolkits};
use crate::spec::{Doing, MicroError};
use gbench_model::{CUBIN_FOLDER, NVRTC_LIBRARY};

type Result<T> = std::result::Result<T, CudaError>;

/// Compiles for a device, or takes the code that an earlier process of the run compiled.
///
/// Errors: no compiler, one that does not know the architecture, or compiler errors.
pub(super) fn compile(source: &KernelSource, arch: &str, cuda_version: u32) -> Result<Compiled> {
    let kept = env::var_os(CUBIN_FOLDER).map(|folder| Kept::new(Path::new(&folder), source, arch));
    // Another machine may have compiled it, for a newer driver.
    let fits = |kept: &Compiled| {
        toolkits::major_of(&kept.about.compiler).is_none_or(|major| major <= cuda_version / 1000)
    };
    if let Some(found) = kept.as_ref().and_then(Kept::read).filter(fits) {
        return Ok(found);
    }
    let compiler =
        if hip::is_used() { Nvrtc::of_hip()? } else { Nvrtc::load(Some(cuda_version), Some(arch))? };
    let compiled = compiler.compile(source, arch)?;
    if let Some(kept) = kept {
        // A full folder only costs the next process time.
        let _ = kept.write(&compiled);
    }
    Ok(compiled)
}

/// The compiler that a process on this machine would use, and the newest CUDA of its driver: `NVRTC 12.4, CUDA 12.4 in the
/// driver`. `capabilities`: of the machine's cards, such as `9.0`. Loads both libraries and starts no work on a GPU.
///
/// Errors: no driver, or no compiler for it or for a card.
pub fn compiler_in_use<'c>(capabilities: impl Iterator<Item = &'c str>) -> Result<String> {
    let cuda_version = device::cuda_version(api::api()?)?;
    let archs: BTreeSet<String> =
        capabilities.map(|capability| format!("sm_{}", capability.replace('.', ""))).collect();
    let mut found = BTreeSet::new();
    for arch in &archs {
        let nvrtc = Nvrtc::load(Some(cuda_version), Some(arch))?;
        let relative = nvrtc.target(arch).filter(|target| target != arch);
        let relative = relative.map_or_else(String::new, |target| format!(" (with {target} for {arch})"));
        found.insert(format!("{}{relative}", nvrtc.name()));
    }
    if archs.is_empty() {
        found.insert(Nvrtc::load(Some(cuda_version), None)?.name());
    }
    let found: Vec<String> = found.into_iter().collect();
    Ok(format!("{}, {} in the driver", found.join(", "), toolkits::shown(cuda_version)))
}

/// Compiles sources for an architecture into a folder in which [`compile`] finds them; returns the path of each one's code.
/// Where this machine has a driver, the code is for it.
///
/// Errors: as for [`compile`], or the folder cannot be written.
pub(super) fn compile_into(
    folder: &Path,
    sources: &[KernelSource],
    arch: &str,
) -> std::result::Result<Vec<(PathBuf, Compiled)>, MicroError> {
    let driver = api::api().and_then(device::cuda_version).ok();
    let nvrtc = Nvrtc::load(driver, Some(arch))?;
    let compiled = sources.iter().map(|source| {
        let compiled = nvrtc.compile(source, arch)?;
        let kept = Kept::new(folder, source, arch);
        kept.write(&compiled).doing("writing machine code")?;
        Ok((kept.code, compiled))
    });
    compiled.collect()
}

type Program = *mut c_void;
type Code = c_int;

/// The loaded compiler. Pointers to its functions are valid as long as the library, which stays open.
struct Nvrtc {
    /// It is AMD's, whose functions do the same.
    is_hip: bool,
    version: (u32, u32),
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
    archs: Vec<u32>,
    _library: Library,
}

impl Nvrtc {
    /// The first compiler whose machine code the driver loads and which knows the card; else one that knows an earlier card whose
    /// code runs on it. `cuda_version`: the driver's, 12040 for 12.4, if its code is for a driver here.
    ///
    /// Errors: no compiler fits. A compiler of a newer major version than the driver's is not used: the driver refuses its code.
    fn load(cuda_version: Option<u32>, arch: Option<&str>) -> Result<Self> {
        let driver = cuda_version.map(|version| version / 1000);
        let candidates = candidates();
        let (mut relative, mut unfit, mut broken) = (None, Vec::new(), Vec::new());
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
            if let Some(cuda_version) = cuda_version.filter(|version| version / 1000 < loaded.version.0) {
                let arch = arch.map(str::to_owned);
                unfit.push(CudaError::NewLibrary { library: loaded.name(), cuda_version, arch });
                continue;
            }
            let Some(arch) = arch else { return Ok(loaded) };
            match loaded.target(arch) {
                Some(target) if toolkits::number_of(&target) == toolkits::number_of(arch) => {
                    return Ok(loaded);
                }
                Some(_) => _ = relative.get_or_insert(loaded),
                None => {
                    let compiler = loaded.name();
                    unfit.insert(0, CudaError::OldCompiler { compiler, arch: arch.into(), driver });
                }
            }
        }
        if let Some(relative) = relative {
            return Ok(relative);
        }
        Err(unfit.into_iter().next().unwrap_or_else(|| {
            let mut looked: Vec<String> = candidates.iter().map(|path| path.display().to_string()).collect();
            looked.dedup();
            looked.extend(broken);
            CudaError::NoCompiler { looked, driver }
        }))
    }

    /// AMD's compiler, which knows the cards of its runtime. Errors: it is not here.
    fn of_hip() -> Result<Self> {
        let candidates = hip::compilers()?;
        // SAFETY: as in [`Nvrtc::load`].
        let open = |path: &PathBuf| Self::of(unsafe { Library::new(path) }.ok()?, path);
        let looked = || candidates.iter().map(|path| path.display().to_string()).collect();
        candidates.iter().find_map(open).ok_or_else(|| CudaError::NoHiprtc { looked: looked() })
    }

    /// The architecture that it compiles for a card; `None`: none that the card runs.
    fn target(&self, arch: &str) -> Option<String> {
        toolkits::target(arch, self.version, &self.archs)
    }

    /// `None` for a library that lacks a function: NVRTC before 11.2 provides no machine code.
    fn of(library: Library, path: &Path) -> Option<Self> {
        let is_hip = hip::is_used();
        let prefix = if is_hip { "hiprtc" } else { "nvrtc" };
        let name = |function: &str| format!("{prefix}{function}");
        let code = if is_hip { "GetCode" } else { "GetCUBIN" };
        // SAFETY: the types are those of `nvrtc.h` and `hiprtc.h` for these names.
        unsafe {
            let version =
                library.get::<unsafe extern "C" fn(*mut c_int, *mut c_int) -> Code>(name("Version")).ok()?;
            let (mut major, mut minor) = (0, 0);
            if version(&mut major, &mut minor) != 0 {
                return None;
            }
            // The loader may have found it anywhere.
            let place = libraries::file_of(*version as *const () as usize);
            let places: Vec<&Path> = [Some(path), place.as_deref()].into_iter().flatten().collect();
            Some(Self {
                is_hip,
                version: (major.unsigned_abs(), minor.unsigned_abs()),
                headers: if is_hip { Vec::new() } else { libraries::headers(&places, major.unsigned_abs()) },
                create: *library.get(name("CreateProgram")).ok()?,
                destroy: *library.get(name("DestroyProgram")).ok()?,
                compile: *library.get(name("CompileProgram")).ok()?,
                add_name: *library.get(name("AddNameExpression")).ok()?,
                lowered_name: *library.get(name("GetLoweredName")).ok()?,
                log_size: *library.get(name("GetProgramLogSize")).ok()?,
                log: *library.get(name("GetProgramLog")).ok()?,
                code_size: *library.get(name(&format!("{code}Size"))).ok()?,
                code: *library.get(name(code)).ok()?,
                archs: archs(&library),
                _library: library,
            })
        }
    }

    fn name(&self) -> String {
        let name = if self.is_hip { "hiprtc" } else { "NVRTC" };
        format!("{name} {}.{}", self.version.0, self.version.1)
    }

    fn compile(&self, source: &KernelSource, arch: &str) -> Result<Compiled> {
        let card = arch;
        let arch = self.target(card).unwrap_or_else(|| card.to_owned());
        let program = Compilation::new(self, source)?;
        let target = if arch == card {
            arch.clone()
        } else {
            // The kernel may need what the card has and this target lacks.
            format!("{arch} (in place of {card}, which {} does not know)", self.name())
        };
        let failed = |log: String| CudaError::Compile {
            file: source.name.clone(),
            arch: target.clone(),
            log,
            toolkit: self.version.0,
        };
        for entry in &source.entries {
            let entry = c_text(entry).ok_or_else(|| failed(format!("`{entry}` is not a valid name")))?;
            // SAFETY: the program lives, and the text ends in NUL. A name that is wrong is an error of the compilation.
            unsafe { (self.add_name)(program.handle, entry.as_ptr()) };
        }
        let mut options = if self.is_hip {
            vec![format!("--offload-arch={arch}")]
        } else {
            vec![format!("--gpu-architecture={arch}"), "--ptxas-options=-v".into()]
        };
        options.extend(source.options.iter().cloned());
        let folders = source.include.iter().chain(&self.headers);
        let include = if self.is_hip { "-I" } else { "--include-path=" };
        options.extend(folders.map(|folder| format!("{include}{}", folder.display())));
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

/// The log from its first error on; figures and warnings precede it. The error's file is without its folder, which may be
/// longer than the line that reports have room for.
fn telling(log: &str) -> Option<String> {
    let mut lines: Vec<&str> =
        log.lines().map(str::trim_end).filter(|line| !line.trim().is_empty()).collect();
    lines.drain(..lines.iter().position(|line| line.contains("error")).unwrap_or(0));
    let first = lines.first_mut()?;
    if let Some((folder, _)) = first.split_once(['(', ':']).and_then(|(place, _)| place.rsplit_once('/')) {
        *first = &first[folder.len() + 1..];
    }
    Some(lines.join("\n"))
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
            toolkit: nvrtc.version.0,
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
fn archs(library: &Library) -> Vec<u32> {
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
        let answered = list(archs.as_mut_ptr()) == 0;
        archs.into_iter().filter(|_| answered).filter_map(|arch| arch.try_into().ok()).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_begins_with_its_first_error() {
        let log = "k.cu(1): warning #177-D: unused\nptxas info : 0 bytes gmem\nptxas error : too much shared data\nptxas fatal : stopped\n";
        assert_eq!(telling(log).unwrap(), "ptxas error : too much shared data\nptxas fatal : stopped");
        let log = "k.cu(1): warning: odd\n/opt/a/b/include/cuda/x.h(7): catastrophic error: cannot open source file \"nv/target\"\n";
        assert_eq!(
            telling(log).unwrap(),
            "x.h(7): catastrophic error: cannot open source file \"nv/target\""
        );
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
