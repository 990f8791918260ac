//! Files that a driver loads as they are: cubins, fatbins and PTX.

use super::code::ArchCode;
use super::elf::{Elf, MACHINE_CUDA};
use super::error::CodeError;
use super::fatbin::{self, FatbinContents};
use super::{ptx, read};

/// The machine code for one architecture, or PTX, which the driver compiles.
#[derive(Clone, Debug, PartialEq)]
pub struct Image {
    /// A cubin, or a text.
    pub code: Vec<u8>,
    /// The architecture is `sm_90`; of PTX `compute_90`. A kernel of PTX has only a hash, over all of the text.
    pub about: ArchCode,
}

/// The images in a file. Errors: the driver does not load it, or it is malformed.
pub fn images(bytes: &[u8]) -> Result<Vec<Image>, CodeError> {
    let of_ptx = |code: &[u8]| Ok(Image { code: code.to_vec(), about: ptx::read(code)? });
    if ptx::is(bytes) {
        return Ok(vec![of_ptx(bytes)?]);
    }
    let of_cubin = |code: &[u8]| {
        let about = read(code)?.pop().ok_or(CodeError::NoDeviceCode)?;
        Ok(Image { code: code.to_vec(), about })
    };
    if !fatbin::is(bytes) {
        let is_of_host = Elf::is(bytes) && Elf::read(bytes)?.machine != MACHINE_CUDA;
        return if is_of_host { Err(CodeError::OfHost) } else { Ok(vec![of_cubin(bytes)?]) };
    }
    let mut found = FatbinContents::default();
    found.texts = Some(Vec::new());
    let mut images = Vec::new();
    fatbin::each_cubin(bytes, &mut found, &mut |code| match of_cubin(code) {
        // Code without a kernel is of no use here, and another member may have some.
        Err(CodeError::NoKernel) => Ok(()),
        image => {
            images.push(image?);
            Ok(())
        }
    })?;
    for text in found.texts.iter().flatten() {
        images.push(of_ptx(text)?);
    }
    if !images.is_empty() {
        return Ok(images);
    }
    Err(if found.other { CodeError::OnlyIntermediate } else { CodeError::NoKernel })
}

/// The image that a driver takes for a card of this compute capability: machine code before PTX, the newest first. `None`: the
/// card runs none of them.
pub fn fitting(images: &[Image], capability: (u32, u32)) -> Option<&Image> {
    let fits = |image: &&Image| Target::of(&image.about.arch).is_some_and(|it| it.runs_on(capability));
    images
        .iter()
        .filter(fits)
        .max_by_key(|image| Target::of(&image.about.arch).map(|it| (!it.is_ptx, it.number, it.suffix)))
}

impl Image {
    pub fn is_ptx(&self) -> bool {
        self.about.arch.starts_with(PTX)
    }
}

const PTX: &str = "compute_";

struct Target {
    is_ptx: bool,
    number: u32,
    /// `a`: of this architecture alone; `f`: of its family.
    suffix: Option<char>,
}

impl Target {
    fn of(arch: &str) -> Option<Self> {
        let ptx = arch.strip_prefix(PTX);
        let text = ptx.or(arch.strip_prefix("sm_"))?;
        let digits = text.trim_end_matches(['a', 'f']);
        Some(Self {
            is_ptx: ptx.is_some(),
            number: digits.parse().ok()?,
            suffix: text[digits.len()..].chars().next(),
        })
    }

    fn runs_on(&self, (major, minor): (u32, u32)) -> bool {
        let card = major * 10 + minor;
        let is_of_family = self.number / 10 == major && self.number <= card;
        match self.suffix {
            Some('a') => self.number == card,
            None if self.is_ptx => self.number <= card,
            _ => is_of_family,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameter_sizes;

    fn file(name: &str) -> Vec<u8> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/gpu/code/");
        std::fs::read(format!("{folder}{name}")).unwrap()
    }

    #[test]
    fn a_fatbin_is_taken_apart_however_it_is_packed() {
        for name in ["pair_plain.fatbin", "pair_zstd.fatbin", "pair_lz4.fatbin", "pair_concat.fatbin"] {
            let all = images(&file(name)).unwrap();
            let archs: Vec<_> = all.iter().map(|it| it.about.arch.as_str()).collect();
            assert_eq!(archs[..2], ["sm_75", "sm_90"], "{name}");
            for image in &all {
                assert_eq!(parameter_sizes(&image.code, "_Z5scalePff").unwrap(), [8, 4], "{name}");
                assert_eq!(image.about.kernels.len(), 2, "{name}");
            }
        }
        assert_eq!(images(&file("base.cubin")).unwrap()[0].about.arch, "sm_90");
        assert!(images(&file("pair_ptx.fatbin")).unwrap()[0].is_ptx());
        for (name, error) in [
            ("pair_to_link.cubin", CodeError::Relocatable),
            ("pair.o", CodeError::OfHost),
            ("pair.cu", CodeError::NotDeviceCode),
        ] {
            assert_eq!(images(&file(name)), Err(error), "{name}");
        }
    }

    fn image(arch: &str) -> Image {
        Image { code: Vec::new(), about: ArchCode { arch: arch.into(), ..ArchCode::default() } }
    }

    #[test]
    fn a_card_gets_its_own_machine_code_then_that_of_its_family_then_ptx() {
        let all =
            ["compute_80", "sm_80", "sm_90", "sm_90a", "compute_90", "sm_100f", "compute_120"].map(image);
        for (card, expected) in [
            ((9, 0), Some("sm_90a")),
            ((8, 6), Some("sm_80")),
            ((8, 9), Some("sm_80")),
            ((10, 3), Some("sm_100f")),
            ((11, 0), Some("compute_90")),
            ((12, 1), Some("compute_120")),
            ((7, 5), None),
        ] {
            assert_eq!(fitting(&all, card).map(|it| it.about.arch.as_str()), expected, "{card:?}");
        }
        assert!(fitting(&["sm_90a", "sm_75", "odd"].map(image), (12, 0)).is_none());
    }
}
