//! Images that the user's own tools built: cubins, fatbins and PTX. The driver loads them as they are.

use std::collections::{BTreeMap, BTreeSet};

use super::device::CudaDevice;
use super::error::{CudaError, REFUSED_CODE};
use super::machine_code::{Compiled, CompilerNotes, recorded};
use super::modules::Module;
use super::toolkits;
use gbench_device_code::{Image, display_name, fitting, images, named, variables};

pub(super) struct KernelImage {
    /// The file's name without its folder, for messages.
    pub name: String,
    pub bytes: Vec<u8>,
    /// Kernels by their readable names or symbols, and variables as for a source.
    pub entries: Vec<String>,
}

impl KernelImage {
    /// Loads what the driver would take of it for this card. Errors: it is not an image, it lacks a name, or the driver refuses it.
    pub(super) fn load(&self, gpu: &CudaDevice) -> Result<(Compiled, Module), CudaError> {
        let unusable =
            |why: &dyn ToString| CudaError::NoImage { file: self.name.clone(), why: why.to_string() };
        let images = images(&self.bytes).map_err(|why| unusable(&why))?;
        let fitting = fitting(&images, gpu.facts().capability);
        // Where none fits the driver has the say, too.
        let image = fitting.or(images.first()).ok_or_else(|| unusable(&"it is empty"))?;
        let mut code = image.code.clone();
        if image.is_ptx() {
            // A text ends in NUL.
            code.push(0);
        }
        let refused = |error| self.refused(error, image, (&images, fitting.is_some()), gpu);
        let module = gpu.module(&code).map_err(refused)?;
        let names = self.names(image)?;
        let mut recorded = recorded(image.about.clone());
        let mut compiler = image.about.compiler.clone().unwrap_or_default();
        if image.is_ptx() {
            recorded.arch = gpu.facts().arch();
            compiler = format!("{compiler} by the driver for {}", toolkits::shown(gpu.facts().cuda_version));
            recorded.compiler = Some(compiler.clone());
        }
        let about = CompilerNotes { compiler, log: String::new(), names };
        Ok((Compiled { cubin: image.code.clone(), about, code: recorded }, module))
    }

    fn names(&self, image: &Image) -> Result<BTreeMap<String, String>, CudaError> {
        let kernels: Vec<&str> = image.about.kernels.keys().map(String::as_str).collect();
        let variables = variables(&image.code).unwrap_or_default();
        let variables: Vec<&str> = variables.iter().map(String::as_str).collect();
        let symbol = |entry: &String| {
            let (kind, name, there) = match entry.strip_prefix('&') {
                Some(name) => ("variable", name, &variables),
                None => ("kernel", entry.as_str(), &kernels),
            };
            let found = named(there, name);
            if let [one] = found[..] {
                return Ok((entry.clone(), one.to_owned()));
            }
            let (file, name) = (self.name.clone(), name.to_owned());
            Err(if found.is_empty() {
                let there: BTreeSet<String> = there.iter().map(|it| display_name(it)).collect();
                CudaError::NotInImage { file, kind, name, there: there.into_iter().collect() }
            } else {
                let found = found.into_iter().map(str::to_owned).collect();
                CudaError::SeveralInImage { file, kind, name, found }
            })
        };
        self.entries.iter().map(symbol).collect()
    }

    /// Why the driver refuses it. `all`: with whether one of them is for this card.
    fn refused(
        &self,
        error: CudaError,
        image: &Image,
        (all, fits): (&[Image], bool),
        gpu: &CudaDevice,
    ) -> CudaError {
        const UNSUPPORTED_PTX: u32 = 222;
        const INVALID_PTX: u32 = 218;
        let CudaError::Call { code, .. } = error else { return error };
        if !REFUSED_CODE.contains(&code) && code != INVALID_PTX {
            return error;
        }
        let (file, card) = (self.name.clone(), gpu.facts().arch());
        let (is_ptx, cuda_version) = (image.is_ptx(), gpu.facts().cuda_version);
        let tool = image.about.compiler.clone().unwrap_or_default();
        let is_newer = toolkits::major_of(&tool).is_some_and(|major| major > cuda_version / 1000);
        if !fits {
            let has: BTreeSet<String> = all.iter().map(|it| it.about.arch.clone()).collect();
            CudaError::ForeignImage { file, has: has.into_iter().collect(), card }
        } else if if is_ptx { code == UNSUPPORTED_PTX } else { is_newer } {
            CudaError::NewImage { file, tool, is_ptx, cuda_version, card }
        } else {
            CudaError::RefusedImage { file, is_ptx, card, refused: Box::new(error) }
        }
    }
}
