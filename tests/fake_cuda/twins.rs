//! Kernels on the CPU: the same source as the cubin's, compiled by a C++ compiler into a library of functions `gb_cpu_NAME`.
//!
//! `FAKE_CUDA_TWINS` names the libraries, with colons between them. One written as `MARK=PATH` holds the twins of those cubins
//! alone that have a symbol MARK, where several cubins have kernels of the same names; those come first.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int, c_void};

use crate::elf::Cubin;

/// What a twin is told of its launch.
#[repr(C)]
pub struct GbLaunch {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared_bytes: u32,
    pub pad: u32,
    pub globaltimer_ns: u64,
    pub clock64: u64,
}

pub type Twin = unsafe extern "C" fn(*mut *mut c_void, *const GbLaunch);

unsafe extern "C" {
    fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlerror() -> *const c_char;
}

pub struct Twins {
    /// Kernels do nothing but take their time.
    none: bool,
    /// Mark and path.
    libraries: Vec<(Option<String>, String)>,
    /// Handles of those that were opened; None for one that could not be.
    open: BTreeMap<String, Option<usize>>,
}

impl Twins {
    pub fn new(none: bool) -> Self {
        let list = std::env::var("FAKE_CUDA_TWINS").unwrap_or_default();
        let entry = |text: &str| match text.split_once('=') {
            Some((mark, path)) => (Some(mark.to_owned()), path.to_owned()),
            None => (None, text.to_owned()),
        };
        let mut libraries: Vec<_> = list.split(':').filter(|text| !text.is_empty()).map(entry).collect();
        libraries.sort_by_key(|(mark, _)| mark.is_none());
        Self { none, libraries, open: BTreeMap::new() }
    }

    /// Where the twins keep a variable.
    pub fn variable(&mut self, cubin: &Cubin, name: &str) -> Option<usize> {
        let symbol = CString::new(name).ok()?;
        let libraries = if self.none { Vec::new() } else { self.fitting(cubin) };
        libraries.into_iter().find_map(|library| {
            // SAFETY: the library is open and stays so, and the name ends in NUL.
            let found = unsafe { dlsym(library as *mut c_void, symbol.as_ptr()) };
            (!found.is_null()).then_some(found as usize)
        })
    }

    fn fitting(&mut self, cubin: &Cubin) -> Vec<usize> {
        let fits = |mark: &Option<String>| mark.as_ref().is_none_or(|mark| cubin.symbols.contains(mark));
        let paths: Vec<String> =
            self.libraries.iter().filter(|(mark, _)| fits(mark)).map(|(_, path)| path.clone()).collect();
        let mut open = |path: String| *self.open.entry(path).or_insert_with_key(|path| self::open(path));
        paths.into_iter().filter_map(&mut open).collect()
    }

    /// The twin of a kernel; `Ok(None)` where kernels do nothing. Errors: there is none, which is said on stderr.
    pub fn find(&mut self, cubin: &Cubin, kernel: &str) -> Result<Option<Twin>, ()> {
        if self.none {
            return Ok(None);
        }
        let symbol = CString::new(format!("gb_cpu_{kernel}")).map_err(|_| ())?;
        for library in self.fitting(cubin) {
            // SAFETY: the library is open and stays so, and the name ends in NUL.
            let found = unsafe { dlsym(library as *mut c_void, symbol.as_ptr()) };
            if !found.is_null() {
                // SAFETY: a library of twins gives every `gb_cpu_` function this type.
                return Ok(Some(unsafe { std::mem::transmute::<*mut c_void, Twin>(found) }));
            }
        }
        eprintln!("fake_cuda: no twin gb_cpu_{kernel} in FAKE_CUDA_TWINS");
        Err(())
    }
}

fn open(path: &str) -> Option<usize> {
    const NOW: c_int = 2;
    // A name without a slash would be looked for in the system's folders.
    let path = if path.contains('/') { path.to_owned() } else { format!("./{path}") };
    let name = CString::new(path.clone()).ok()?;
    // SAFETY: the test's own library; its initialisers run.
    let library = unsafe { dlopen(name.as_ptr(), NOW) };
    if library.is_null() {
        // SAFETY: dlopen has just failed, so that there is a text, which ends in NUL.
        let why = unsafe { CStr::from_ptr(dlerror()) };
        eprintln!("fake_cuda: twins {path}: {}", why.to_string_lossy());
        return None;
    }
    Some(library as usize)
}
