//! The arguments of a launch in the memory of the device and as values.

use super::buffers::Buffer;
use super::device::CudaDevice;
use super::error::CudaError;
use super::host_buffer::HostBuffer;
use super::modules::Parameters;
use gbench_model::{Access, KernelArgument, buffers};

/// The memory behind a buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Surroundings {
    /// Bytes that show what a kernel writes there.
    Guarded,
    /// Nothing, so that `compute-sanitizer` sees an access beyond the buffer; nor is an output written before the kernel does.
    Bare,
}

/// One argument, or a field of one.
enum Slot {
    Buffer(Buffer),
    Scalar(Vec<u8>),
    Struct(Vec<Slot>),
    /// A buffer, and the map of it.
    TensorMap(Buffer, Vec<u8>),
}

impl Slot {
    fn new(
        gpu: &CudaDevice,
        argument: &KernelArgument,
        inputs: &mut dyn Iterator<Item = &HostBuffer>,
        around: Surroundings,
    ) -> Result<Self, CudaError> {
        Ok(match argument {
            KernelArgument::Scalar { dtype, value } => Slot::Scalar(HostBuffer::of_number(*dtype, *value)),
            KernelArgument::Buffer { access, .. } => {
                let input = inputs.next().map_or(&[][..], HostBuffer::bytes);
                let buffer = match around {
                    Surroundings::Guarded => gpu.allocate_guarded(input.len())?,
                    Surroundings::Bare => gpu.allocate(input.len())?,
                };
                if around == Surroundings::Guarded || *access != Access::Output {
                    buffer.write(input)?;
                }
                Slot::Buffer(buffer)
            }
            KernelArgument::Struct { fields } => {
                let fields = fields.iter().map(|field| Self::new(gpu, field, inputs, around));
                Slot::Struct(fields.collect::<Result<_, _>>()?)
            }
            KernelArgument::TensorMap { buffer, map } => {
                match (Self::new(gpu, buffer, inputs, around)?, &**buffer) {
                    (Slot::Buffer(made), KernelArgument::Buffer { dtype, .. }) => {
                        let map = made.tensor_map(*dtype, map)?;
                        Slot::TensorMap(made, map)
                    }
                    // The suite file has no map of anything else.
                    (made, _) => made,
                }
            }
        })
    }

    fn buffers(&self) -> Vec<&Buffer> {
        match self {
            Slot::Buffer(buffer) | Slot::TensorMap(buffer, _) => vec![buffer],
            Slot::Scalar(_) => Vec::new(),
            Slot::Struct(fields) => fields.iter().flat_map(Slot::buffers).collect(),
        }
    }

    /// Its bytes, and their alignment.
    fn value(&self) -> (Vec<u8>, usize) {
        const OF_TENSOR_MAP: usize = 64;
        match self {
            Slot::Buffer(buffer) => (buffer.address().to_le_bytes().to_vec(), size_of::<u64>()),
            Slot::Scalar(bytes) => (bytes.clone(), bytes.len().max(1)),
            Slot::TensorMap(_, map) => (map.clone(), OF_TENSOR_MAP),
            Slot::Struct(fields) => laid_out(fields.iter().map(Slot::value)),
        }
    }
}

/// The fields of a struct as C lays them out: each at a multiple of its alignment, the whole a multiple of the largest.
fn laid_out(fields: impl Iterator<Item = (Vec<u8>, usize)>) -> (Vec<u8>, usize) {
    let (mut bytes, mut most) = (Vec::new(), 1);
    for (field, alignment) in fields {
        bytes.resize(usize::next_multiple_of(bytes.len(), alignment), 0);
        bytes.extend(field);
        most = most.max(alignment);
    }
    bytes.resize(usize::next_multiple_of(bytes.len(), most), 0);
    (bytes, most)
}

/// Everything that one launch of a kernel reads and writes.
pub(super) struct Slots(Vec<Slot>);

impl Slots {
    /// Device memory for the arguments, filled with `inputs`: one host buffer per buffer.
    pub(super) fn new(
        gpu: &CudaDevice,
        arguments: &[KernelArgument],
        inputs: &[HostBuffer],
        around: Surroundings,
    ) -> Result<Self, CudaError> {
        let mut inputs = inputs.iter();
        let slots = arguments.iter().map(|argument| Slot::new(gpu, argument, &mut inputs, around));
        slots.collect::<Result<_, _>>().map(Self)
    }

    pub(super) fn parameters(&self) -> Parameters {
        self.0.iter().fold(Parameters::default(), |parameters, slot| parameters.value(&slot.value().0))
    }

    pub(super) fn buffers(&self) -> Vec<&Buffer> {
        self.0.iter().flat_map(Slot::buffers).collect()
    }

    /// Fills all buffers again; those that the kernel only writes with this byte.
    pub(super) fn prepare(
        &self,
        gpu: &CudaDevice,
        arguments: &[KernelArgument],
        inputs: &[HostBuffer],
        of_outputs: u8,
    ) -> Result<(), CudaError> {
        for ((buffer, it), input) in self.buffers().into_iter().zip(buffers(arguments)).zip(inputs) {
            match it.access {
                Access::Output => gpu.set(buffer, of_outputs)?,
                Access::Input | Access::InputOutput => buffer.write(input.bytes())?,
            }
        }
        Ok(())
    }

    /// The place, from 1, of the first argument behind whose buffer something was written.
    pub(super) fn written_beyond(&self) -> Result<Option<usize>, CudaError> {
        for (at, slot) in self.0.iter().enumerate() {
            for buffer in slot.buffers() {
                if !buffer.is_guard_intact()? {
                    return Ok(Some(at + 1));
                }
            }
        }
        Ok(None)
    }

    pub(super) fn read(&self, arguments: &[KernelArgument]) -> Result<Vec<HostBuffer>, CudaError> {
        let read = self.buffers().into_iter().zip(buffers(arguments));
        read.map(|(buffer, it)| Ok(HostBuffer::new(it.dtype, buffer.read()?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_the_places_that_c_gives_them() {
        let field = |bytes: &[u8], alignment| (bytes.to_vec(), alignment);
        let inner = laid_out([field(&[1; 4], 4), field(&[2], 1)].into_iter());
        assert_eq!(inner, (vec![1, 1, 1, 1, 2, 0, 0, 0], 4));
        let (whole, alignment) =
            laid_out([field(&[3], 1), inner, field(&[4; 8], 8), field(&[5; 2], 2)].into_iter());
        let expected =
            [&[3, 0, 0, 0, 1, 1, 1, 1, 2, 0, 0, 0, 0, 0, 0, 0][..], &[4; 8], &[5, 5, 0, 0, 0, 0, 0, 0]];
        assert_eq!((whole, alignment), (expected.concat(), 8));
    }
}
