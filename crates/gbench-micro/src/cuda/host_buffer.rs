//! Elements of one type on the host: data for the device and from it, with access to each element as a number.

use half::{bf16, f16};
use rand::{Rng, RngExt};

use crate::spec::{MicroError, allocate};
use gbench_model::{DType, Fill};

/// The period after which random elements repeat: a card's memory cannot tell, and hundreds of MiB are filled quickly. It is
/// prime, so that an element written to a wrong place at a round distance is still different.
const PERIOD: usize = 1_048_583;

/// The content of an output before a kernel writes it: NaN in every floating type, the largest or -1 in the others.
pub(super) const POISON: u8 = 0xff;

/// Consecutive elements, in the byte order of host and device (little-endian).
#[derive(Clone, Debug, PartialEq)]
pub(super) struct HostBuffer {
    dtype: DType,
    bytes: Vec<u8>,
}

impl HostBuffer {
    /// Data that was read back. Bytes after the last whole element are ignored.
    pub(super) fn new(dtype: DType, bytes: Vec<u8>) -> Self {
        Self { dtype, bytes }
    }

    /// `length` elements according to `fill`. Errors: not enough memory.
    pub(super) fn filled(
        dtype: DType,
        length: u64,
        fill: &Fill,
        random: &mut impl Rng,
    ) -> Result<Self, MicroError> {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let mut buffer =
            Self { dtype, bytes: allocate("a host buffer", length.saturating_mul(dtype.size()), 0_u8)? };
        match *fill {
            Fill::Value { value: 0.0 } => {}
            Fill::Value { value } => {
                let element = Self::of_number(dtype, value);
                buffer.bytes.chunks_exact_mut(dtype.size()).for_each(|place| place.copy_from_slice(&element));
            }
            Fill::Index => (0..length).for_each(|at| buffer.set(at, at as f64)),
            Fill::Uniform { low, high } => {
                let drawn = length.min(PERIOD);
                for at in 0..drawn {
                    let value = low + random.random::<f64>() * (high - low);
                    buffer.set(
                        at,
                        match dtype {
                            // The sum leaves the last bits empty.
                            DType::F64 => {
                                let bits = value.to_bits() ^ u64::from(random.random::<u8>());
                                f64::from_bits(bits).max(low).min(high)
                            }
                            _ if is_integer(dtype) => value.floor(),
                            _ => value,
                        },
                    );
                }
                let (first, rest) = buffer.bytes.split_at_mut(drawn * dtype.size());
                for part in rest.chunks_mut(first.len().max(1)) {
                    part.copy_from_slice(&first[..part.len()]);
                }
            }
        }
        Ok(buffer)
    }

    /// The bytes of the type's nearest number.
    pub(super) fn of_number(dtype: DType, value: f64) -> Vec<u8> {
        match dtype {
            DType::F64 => value.to_le_bytes().to_vec(),
            DType::F32 => (value as f32).to_le_bytes().to_vec(),
            DType::F16 => f16::from_f64(value).to_le_bytes().to_vec(),
            DType::Bf16 => bf16::from_f64(value).to_le_bytes().to_vec(),
            DType::I64 => (value as i64).to_le_bytes().to_vec(),
            DType::I32 => (value as i32).to_le_bytes().to_vec(),
            DType::I8 => (value as i8).to_le_bytes().to_vec(),
            DType::U64 => (value as u64).to_le_bytes().to_vec(),
            DType::U32 => (value as u32).to_le_bytes().to_vec(),
            DType::U8 => (value as u8).to_le_bytes().to_vec(),
        }
    }

    pub(super) fn dtype(&self) -> DType {
        self.dtype
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len() / self.dtype.size()
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The element at `at`, exactly (integers beyond 2^53: the nearest); NaN if there is none.
    pub(super) fn get(&self, at: usize) -> f64 {
        let size = self.dtype.size();
        let Some(bytes) = self.bytes.get(at * size..(at + 1) * size) else { return f64::NAN };
        match (self.dtype, bytes) {
            (DType::F32, &[a, b, c, d]) => f64::from(f32::from_le_bytes([a, b, c, d])),
            (DType::F16, &[a, b]) => f16::from_le_bytes([a, b]).to_f64(),
            (DType::Bf16, &[a, b]) => bf16::from_le_bytes([a, b]).to_f64(),
            (DType::I32, &[a, b, c, d]) => f64::from(i32::from_le_bytes([a, b, c, d])),
            (DType::U32, &[a, b, c, d]) => f64::from(u32::from_le_bytes([a, b, c, d])),
            (DType::I8, &[a]) => f64::from(a as i8),
            (DType::U8, &[a]) => f64::from(a),
            (DType::F64, &[a, b, c, d, e, f, g, h]) => f64::from_le_bytes([a, b, c, d, e, f, g, h]),
            (DType::I64, &[a, b, c, d, e, f, g, h]) => i64::from_le_bytes([a, b, c, d, e, f, g, h]) as f64,
            (DType::U64, &[a, b, c, d, e, f, g, h]) => u64::from_le_bytes([a, b, c, d, e, f, g, h]) as f64,
            // No type has another size.
            _ => f64::NAN,
        }
    }

    /// Sets the element at `at` to the type's nearest number to `value`; beyond the end nothing happens.
    pub(super) fn set(&mut self, at: usize, value: f64) {
        let size = self.dtype.size();
        if let Some(place) = self.bytes.get_mut(at * size..(at + 1) * size) {
            // Without an allocation for the types that are filled at random.
            match self.dtype {
                DType::F32 => place.copy_from_slice(&(value as f32).to_le_bytes()),
                DType::F16 => place.copy_from_slice(&f16::from_f64(value).to_le_bytes()),
                DType::Bf16 => place.copy_from_slice(&bf16::from_f64(value).to_le_bytes()),
                other => place.copy_from_slice(&Self::of_number(other, value)),
            }
        }
    }

    /// The content as `answer` events send it, each with its tolerance: elements; means and root mean squares of parts, which leave
    /// no element out; and how many elements of each part are not finite. Empty for an empty buffer.
    ///
    /// Rounding and another order of additions move an element by some units of its last place, and a mean over many by much
    /// less, unless the precision of the whole computation changes.
    pub(super) fn figures(&self) -> Vec<(&'static str, Vec<Option<f64>>, f64)> {
        const PARTS: usize = 32;
        // Elements at different places of their parts: tiles have round sizes.
        const STEP: usize = 7919;
        let (length, parts) = (self.len(), self.len().min(PARTS));
        if parts == 0 {
            return Vec::new();
        }
        let (mut elements, mut means, mut squares, mut missing) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for part in 0..parts {
            let range = part * length / parts..(part + 1) * length / parts;
            let element = self.get(range.start + part * STEP % range.len());
            elements.push(Some(element).filter(|element| element.is_finite()));
            let numbers = || range.clone().map(|at| self.get(at)).filter(|value| value.is_finite());
            let count = numbers().count();
            let of_all = |sum: f64| Some(sum / count as f64).filter(|mean| mean.is_finite());
            means.push(of_all(numbers().sum()));
            squares.push(of_all(numbers().map(|value| value * value).sum()).map(f64::sqrt));
            missing.push(Some((range.len() - count) as f64));
        }
        let (of_element, of_mean) = match self.dtype {
            DType::F64 => (1e-9, 1e-10),
            DType::F32 => (1e-3, 2e-4),
            DType::F16 => (1e-2, 2e-3),
            DType::Bf16 => (5e-2, 8e-3),
            _ => (0.0, 0.0),
        };
        means.append(&mut squares);
        vec![("", elements, of_element), (", in parts", means, of_mean), (", not finite", missing, 0.0)]
    }

    /// True if an element still has the value that outputs are overwritten with.
    pub(super) fn has_poison(&self) -> bool {
        let mut elements = self.bytes.chunks_exact(self.dtype.size());
        elements.any(|element| element.iter().all(|byte| *byte == POISON))
    }
}

fn is_integer(dtype: DType) -> bool {
    !matches!(dtype, DType::F64 | DType::F32 | DType::F16 | DType::Bf16)
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_pcg::Pcg64;
    use strum::IntoEnumIterator;

    use super::*;

    fn filled(dtype: DType, length: u64, fill: Fill) -> HostBuffer {
        HostBuffer::filled(dtype, length, &fill, &mut Pcg64::seed_from_u64(7)).unwrap()
    }

    #[test]
    fn every_type_gives_back_what_was_put_in() {
        for dtype in DType::iter() {
            let indices = filled(dtype, 100, Fill::Index);
            assert_eq!((indices.len(), indices.bytes().len()), (100, 100 * dtype.size()), "{dtype:?}");
            assert!((0..100).all(|at| indices.get(at) == at as f64), "{dtype:?}");
            assert!(indices.get(100).is_nan());
            let threes = filled(dtype, 5, Fill::Value { value: 3.0 });
            assert!((0..5).all(|at| threes.get(at) == 3.0), "{dtype:?}");
            assert_eq!(threes.bytes()[..dtype.size()], HostBuffer::of_number(dtype, 3.0)[..]);
        }
    }

    #[test]
    fn random_numbers_lie_in_their_range_and_use_the_whole_mantissa() {
        for dtype in [DType::F64, DType::F32, DType::F16, DType::Bf16] {
            let numbers = filled(dtype, 4000, Fill::Uniform { low: -2.0, high: 3.0 });
            let values: Vec<f64> = (0..numbers.len()).map(|at| numbers.get(at)).collect();
            assert!(values.iter().all(|value| (-2.0..=3.0).contains(value)), "{dtype:?}");
            assert!(values.iter().any(|value| *value < -1.9) && values.iter().any(|value| *value > 2.9));
            // The lowest bit of the mantissa is in the first byte.
            let odd = numbers.bytes().chunks(dtype.size()).filter(|element| element[0] % 2 == 1).count();
            assert!((1600..2400).contains(&odd), "{dtype:?}: {odd}");
        }
        let dice = filled(DType::I32, 1000, Fill::Uniform { low: -1.0, high: 3.0 });
        assert!((0..1000).all(|at| [-1.0, 0.0, 1.0, 2.0].contains(&dice.get(at))));
    }

    #[test]
    fn a_long_buffer_repeats_the_numbers_after_a_prime_length() {
        let long = filled(DType::F16, PERIOD as u64 * 2 + 5, Fill::Uniform { low: 0.0, high: 1.0 });
        assert!((0..5).all(|at| long.get(at) == long.get(at + 2 * PERIOD)));
        assert!((0..100).any(|at| long.get(at) != long.get(at + (1 << 20))));
    }

    #[test]
    fn figures_show_wrong_tiles_and_missing_numbers_and_no_rounding() {
        use gbench_model::AnswerValues;
        let differs = |one: &HostBuffer, other: &HostBuffer| {
            let of = |buffer: &HostBuffer| {
                let figures = buffer.figures().into_iter();
                figures
                    .map(|(_, values, tolerance)| AnswerValues { values, tolerance, varies: false })
                    .collect()
            };
            let (one, other): (Vec<AnswerValues>, Vec<AnswerValues>) = (of(one), of(other));
            one.iter().zip(&other).any(|(one, other)| one.difference(other).is_some())
        };
        for dtype in [DType::F64, DType::F32, DType::F16, DType::Bf16] {
            let right = filled(dtype, 1 << 17, Fill::Uniform { low: -1.0, high: 1.0 });
            let changed = |change: fn(usize, f64) -> f64| {
                let mut buffer = right.clone();
                (0..right.len()).for_each(|at| buffer.set(at, change(at, right.get(at))));
                buffer
            };
            // A unit in the last place, up and down by turns.
            let mut rounded = right.clone();
            let epsilon = match dtype {
                DType::F64 => f64::EPSILON,
                DType::F32 => f64::from(f32::EPSILON),
                DType::F16 => f16::EPSILON.to_f64(),
                _ => bf16::EPSILON.to_f64(),
            };
            for at in 0..right.len() {
                let unit = right.get(at) * epsilon;
                rounded.set(at, right.get(at) + if at % 2 == 0 { unit } else { -unit });
            }
            assert_ne!(right, rounded);
            assert!(!differs(&right, &rounded), "{dtype:?}");
            let wrong: [fn(usize, f64) -> f64; 4] = [
                |at, value| if at % 256 >= 224 { 0.0 } else { value },
                |at, value| if at % 16 == 15 { 0.0 } else { value },
                |at, value| if at == 77 { f64::NAN } else { value },
                |_, value| -value,
            ];
            for (at, wrong) in wrong.into_iter().enumerate() {
                assert!(differs(&right, &changed(wrong)), "{dtype:?} {at}");
            }
        }
        assert!(filled(DType::F32, 3, Fill::Index).figures().iter().all(|(_, values, _)| values.len() <= 6));
        assert!(HostBuffer::new(DType::F32, Vec::new()).figures().is_empty());
    }

    #[test]
    fn poison_is_no_number_and_is_found() {
        for dtype in DType::iter() {
            let mut buffer = HostBuffer::new(dtype, vec![POISON; 3 * dtype.size()]);
            assert!(buffer.has_poison());
            assert!(is_integer(dtype) || buffer.get(1).is_nan());
            (0..3).for_each(|at| buffer.set(at, 1.0));
            assert!(!buffer.has_poison(), "{dtype:?}");
        }
    }
}
