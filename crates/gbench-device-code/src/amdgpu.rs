//! Code objects of AMD's cards: ELF files whose note has the kernels and their parameters as MessagePack.
//!
//! Tested with code objects of hiprtc 5.2 for gfx90a, of version 4 of the format. Earlier versions have no note of this type.

use sha2::{Digest, Sha256};

use super::code::{ArchCode, ArchKernel};
use super::elf::{Elf, u32_at};
use super::error::CodeError;
use super::msgpack::Value;

pub(super) const MACHINE_AMDGPU: u16 = 224;
/// `NT_AMDGPU_METADATA`.
const METADATA: u32 = 32;
const OWNER: &[u8] = b"AMDGPU\0";

/// Its kernels. The hash of each covers the code and the constants of the whole object, which has no sections of a kernel's own.
pub(super) fn read(elf: &Elf<'_>) -> Result<ArchCode, CodeError> {
    let about = about(elf)?;
    let target = about.text("amdhsa.target").unwrap_or_default();
    let mut hash = Sha256::new();
    for section in
        elf.sections.iter().filter(|it| it.is_code() || it.name == b".rodata" || it.name == b".data")
    {
        elf.spend(section.bytes.len() as u64)?;
        hash.update(section.size.to_le_bytes());
        hash.update(section.bytes);
    }
    let sha256 = format!("{:x}", hash.finalize());
    let kernel = |it: &Value| {
        let registers = it.number(".vgpr_count").and_then(|count| u32::try_from(count).ok());
        let (shared, frame) =
            (it.number(".group_segment_fixed_size"), it.number(".private_segment_fixed_size"));
        let code = ArchKernel { sha256: sha256.clone(), registers, shared_bytes: shared, frame_bytes: frame };
        Some((name(it)?.to_owned(), code))
    };
    let kernels = about.list("amdhsa.kernels").iter().map(kernel).collect::<Option<_>>();
    let kernels = kernels.ok_or(CodeError::Malformed("a kernel of its note has no name"))?;
    // `amdgcn-amd-amdhsa--gfx90a:sramecc+`
    let arch = target.rsplit("--").next().unwrap_or(target).to_owned();
    Ok(ArchCode { arch, compiler: None, kernels })
}

/// The parameters that a caller gives, without those that the runtime adds.
pub(super) fn parameter_sizes(elf: &Elf<'_>, kernel: &str) -> Result<Vec<usize>, CodeError> {
    let about = about(elf)?;
    let mut kernels = about.list("amdhsa.kernels").iter();
    let kernel = kernels.find(|it| name(it) == Some(kernel)).ok_or(CodeError::NoKernel)?;
    let is_hidden = |it: &&Value| it.text(".value_kind").is_some_and(|kind| kind.starts_with("hidden_"));
    let given = kernel.list(".args").iter().filter(|it| !is_hidden(it));
    let size = |it: &Value| it.number(".size").and_then(|size| usize::try_from(size).ok());
    given.map(|it| size(it).ok_or(CodeError::Malformed("a parameter of its note has no size"))).collect()
}

/// The name by which the runtime finds it: its symbol without the suffix of descriptors.
fn name<'a>(kernel: &Value<'a>) -> Option<&'a str> {
    kernel.text(".symbol")?.strip_suffix(".kd")
}

fn about<'a>(elf: &Elf<'a>) -> Result<Value<'a>, CodeError> {
    let mut notes = elf.sections_named(".note").flat_map(|section| Notes(section.bytes));
    let note = notes.find(|(owner, kind, _)| *owner == OWNER && *kind == METADATA);
    let (_, _, content) = note.ok_or(CodeError::NoDeviceCode)?;
    elf.spend(content.len() as u64)?;
    Value::read(content).ok_or(CodeError::Malformed("its note of kernels is cut off"))
}

/// Owner, type and content of each note.
struct Notes<'a>(&'a [u8]);

impl<'a> Iterator for Notes<'a> {
    type Item = (&'a [u8], u32, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let word = |at| Some(u32_at(self.0, at)? as usize);
        let (owner, content, kind) = (word(0)?, word(4)?, u32_at(self.0, 8)?);
        let begin = 12_usize.checked_add(owner.checked_next_multiple_of(4)?)?;
        let end = begin.checked_add(content)?;
        let note = (self.0.get(12..12 + owner)?, kind, self.0.get(begin..end)?);
        self.0 = self.0.get(end.next_multiple_of(4)..).unwrap_or_default();
        Some(note)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As hiprtc 5.2 writes it for `extern "C" __global__ void k(float, float *)`, shortened, with a parameter of the runtime.
    fn note() -> Vec<u8> {
        let text = |text: &str| [&[0xa0 | text.len() as u8][..], text.as_bytes()].concat();
        let long = |text: &str| [&[0xd9, text.len() as u8][..], text.as_bytes()].concat();
        let argument = |size: &[u8], kind: &str| {
            [vec![0x82], text(".size"), size.to_vec(), text(".value_kind"), text(kind)].concat()
        };
        let arguments = [
            argument(&[4], "by_value"),
            argument(&[0xcc, 8], "global_buffer"),
            argument(&[8], "hidden_global_offset_x"),
        ];
        let shared = [text(".group_segment_fixed_size"), vec![0xcd, 1, 0]].concat();
        let kernel = [
            vec![0x85],
            [text(".args"), vec![0x93], arguments.concat()].concat(),
            shared,
            [text(".private_segment_fixed_size"), vec![0]].concat(),
            [text(".symbol"), text("k.kd")].concat(),
            [text(".vgpr_count"), vec![6]].concat(),
        ];
        let kernels = [text("amdhsa.kernels"), vec![0x91], kernel.concat()].concat();
        let target = [text("amdhsa.target"), long("amdgcn-amd-amdhsa--gfx90a")].concat();
        [vec![0x82], kernels, target].concat()
    }

    fn object(note: &[u8]) -> Vec<u8> {
        let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        let mut notes =
            [words(&[7, note.len() as u32, METADATA]), OWNER.to_vec(), vec![0], note.to_vec()].concat();
        notes.resize(notes.len().next_multiple_of(8), 0);
        let names = b"\0.note\0.text\0.names\0\0\0\0\0";
        let code = [0xbf, 0x81, 0, 0, 0, 0, 0, 0];
        let mut bytes = vec![0; 64];
        bytes[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        bytes[18..20].copy_from_slice(&MACHINE_AMDGPU.to_le_bytes());
        let table = 64 + notes.len() + names.len() + code.len();
        bytes[40..48].copy_from_slice(&(table as u64).to_le_bytes());
        bytes[58..64].copy_from_slice(&[64, 0, 4, 0, 3, 0]);
        let mut headers = vec![0; 64];
        let mut at = 64;
        for (name, kind, flags, content) in
            [(1_u32, 7_u32, 2_u64, &notes[..]), (7, 1, 6, &code[..]), (13, 3, 0, &names[..])]
        {
            let mut header = [words(&[name, kind]), flags.to_le_bytes().to_vec(), vec![0; 8]].concat();
            header.extend([at as u64, content.len() as u64].iter().flat_map(|word| word.to_le_bytes()));
            header.resize(64, 0);
            headers.extend(header);
            bytes.extend(content);
            at += content.len();
        }
        [bytes, headers].concat()
    }

    #[test]
    fn b35_the_note_of_a_code_object_has_its_kernels() {
        let object = object(&note());
        let code = crate::read(&object).unwrap().pop().unwrap();
        assert_eq!((code.arch.as_str(), code.kernels.len()), ("gfx90a", 1));
        let kernel = &code.kernels["k"];
        assert_eq!(
            (kernel.registers, kernel.shared_bytes, kernel.frame_bytes),
            (Some(6), Some(256), Some(0))
        );
        assert_eq!(crate::parameter_sizes(&object, "k"), Ok(vec![4, 8]));
        assert_eq!(crate::parameter_sizes(&object, "other"), Err(CodeError::NoKernel));
        assert_eq!(crate::unset_constants(&object, "k"), Ok(Vec::new()));
    }

    #[test]
    fn b35_a_damaged_note_is_an_error() {
        let note = note();
        for end in 0..note.len() {
            assert!(crate::read(&object(&note[..end])).is_err(), "{end}");
        }
        assert_eq!(Value::read(&[0x91; 100]), None);
        assert_eq!(Value::read(&[0xdf, 0xff, 0xff, 0xff, 0xff]), None);
    }
}
