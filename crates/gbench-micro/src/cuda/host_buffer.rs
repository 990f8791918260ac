//! Elements of one type on the host: data for the device and from it, with access to each element as a number.

use half::{bf16, f16};
use rand::{Rng, RngExt};

use super::minifloat::MiniFloat;
use crate::spec::{MicroError, allocate};
use gbench_model::{DType, Fill};

/// The period after which random elements repeat: a card's memory cannot tell, and hundreds of MiB are filled quickly. It is
/// prime, so that an element written to a wrong place at a round distance is still different.
const PERIOD: usize = 1_048_583;

/// The content of an output before a kernel writes it: NaN in every floating type but FP4, the largest or -1 in the others.
pub(super) const POISON: u8 = 0xff;

/// The bits of the first of two elements in a byte.
const LOW_BITS: u8 = 0xf;

/// Consecutive numbers, in the byte order of host and device (little-endian). A complex element is two of them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct HostBuffer {
    /// The type of the numbers.
    dtype: DType,
    bytes: Vec<u8>,
}

impl HostBuffer {
    /// Data that was read back. Bytes after the last whole number are ignored.
    pub(super) fn new(dtype: DType, bytes: Vec<u8>) -> Self {
        Self { dtype: dtype.part(), bytes }
    }

    /// `length` elements according to `fill`. Errors: not enough memory.
    pub(super) fn filled(
        dtype: DType,
        length: u64,
        fill: &Fill,
        random: &mut impl Rng,
    ) -> Result<Self, MicroError> {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let size = length.saturating_mul(dtype.bits()).div_ceil(8);
        let mut buffer = Self::new(dtype, allocate("a host buffer", size, 0_u8)?);
        // The imaginary parts stay zero, unless they are random.
        let parts = dtype.bits() / buffer.dtype.bits();
        match *fill {
            Fill::Value { value: 0.0 } => {}
            Fill::Value { value } => {
                let mut element = Self::of_number(dtype, value);
                if dtype.bits() == 4 {
                    element.iter_mut().for_each(|byte| *byte |= *byte << 4);
                }
                for place in buffer.bytes.chunks_mut(element.len()) {
                    place.copy_from_slice(&element[..place.len()]);
                }
            }
            Fill::Index => (0..length).for_each(|at| buffer.set(at * parts, at as f64)),
            Fill::Uniform { low, high } => {
                // Whole bytes.
                let drawn = buffer.len().min(PERIOD * 8_usize.div_ceil(buffer.dtype.bits()));
                for at in 0..drawn {
                    let value = low + random.random::<f64>() * (high - low);
                    buffer.set(
                        at,
                        match buffer.dtype {
                            // The sum leaves the last bits empty.
                            DType::F64 => {
                                let bits = value.to_bits() ^ u64::from(random.random::<u8>());
                                f64::from_bits(bits).max(low).min(high)
                            }
                            dtype if dtype.is_floating() => value,
                            _ => value.floor(),
                        },
                    );
                }
                let (first, rest) = buffer.bytes.split_at_mut((drawn * buffer.dtype.bits()).div_ceil(8));
                for part in rest.chunks_mut(first.len().max(1)) {
                    part.copy_from_slice(&first[..part.len()]);
                }
            }
        }
        Ok(buffer)
    }

    /// The bytes of one element: the type's nearest number, in its low bits.
    pub(super) fn of_number(dtype: DType, value: f64) -> Vec<u8> {
        match dtype {
            DType::F64 => value.to_le_bytes().to_vec(),
            DType::F32 => (value as f32).to_le_bytes().to_vec(),
            DType::F16 => f16::from_f64(value).to_le_bytes().to_vec(),
            DType::Bf16 => bf16::from_f64(value).to_le_bytes().to_vec(),
            DType::F8e4m3 | DType::F8e5m2 | DType::F4e2m1 => {
                MiniFloat::of(dtype).map(|float| float.encode(value)).into_iter().collect()
            }
            DType::C64 | DType::C128 => [value, 0.0].map(|part| Self::of_number(dtype.part(), part)).concat(),
            DType::I64 => (value as i64).to_le_bytes().to_vec(),
            DType::I32 => (value as i32).to_le_bytes().to_vec(),
            DType::I16 => (value as i16).to_le_bytes().to_vec(),
            DType::I8 => (value as i8).to_le_bytes().to_vec(),
            DType::I4 => vec![value as i8 as u8 & LOW_BITS],
            DType::U64 => (value as u64).to_le_bytes().to_vec(),
            DType::U32 => (value as u32).to_le_bytes().to_vec(),
            DType::U16 => (value as u16).to_le_bytes().to_vec(),
            DType::U8 => (value as u8).to_le_bytes().to_vec(),
            DType::Bool => vec![u8::from(value != 0.0)],
        }
    }

    pub(super) fn dtype(&self) -> DType {
        self.dtype
    }

    /// Its numbers: two for each complex element. An odd count of elements of four bits is followed by an unused one.
    pub(super) fn len(&self) -> usize {
        self.bytes.len() * 8 / self.dtype.bits()
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The number at `at`, exactly (integers beyond 2^53: the nearest); NaN if there is none.
    pub(super) fn get(&self, at: usize) -> f64 {
        let size = self.dtype.size();
        let is_half = self.dtype.bits() == 4;
        let place = if is_half { at / 2 } else { at * size };
        let Some(bytes) = self.bytes.get(place..place + size) else { return f64::NAN };
        match (self.dtype, bytes) {
            (DType::F32, &[a, b, c, d]) => f64::from(f32::from_le_bytes([a, b, c, d])),
            (DType::F16, &[a, b]) => f16::from_le_bytes([a, b]).to_f64(),
            (DType::Bf16, &[a, b]) => bf16::from_le_bytes([a, b]).to_f64(),
            (DType::I32, &[a, b, c, d]) => f64::from(i32::from_le_bytes([a, b, c, d])),
            (DType::U32, &[a, b, c, d]) => f64::from(u32::from_le_bytes([a, b, c, d])),
            (DType::I16, &[a, b]) => f64::from(i16::from_le_bytes([a, b])),
            (DType::U16, &[a, b]) => f64::from(u16::from_le_bytes([a, b])),
            (DType::I8, &[a]) => f64::from(a as i8),
            (DType::U8 | DType::Bool, &[a]) => f64::from(a),
            (DType::F64, &[a, b, c, d, e, f, g, h]) => f64::from_le_bytes([a, b, c, d, e, f, g, h]),
            (DType::I64, &[a, b, c, d, e, f, g, h]) => i64::from_le_bytes([a, b, c, d, e, f, g, h]) as f64,
            (DType::U64, &[a, b, c, d, e, f, g, h]) => u64::from_le_bytes([a, b, c, d, e, f, g, h]) as f64,
            // From the low or the high half; the shift to the right extends the sign.
            (DType::I4, &[a]) => f64::from((if at.is_multiple_of(2) { a << 4 } else { a }) as i8 >> 4),
            (dtype, &[a]) => {
                let code = if is_half && at.is_multiple_of(2) {
                    a & LOW_BITS
                } else {
                    a >> if is_half { 4 } else { 0 }
                };
                MiniFloat::of(dtype).map_or(f64::NAN, |float| float.decode(code))
            }
            // No type has another size.
            _ => f64::NAN,
        }
    }

    /// Sets the number at `at` to the type's nearest one to `value`; beyond the end nothing happens.
    pub(super) fn set(&mut self, at: usize, value: f64) {
        let size = self.dtype.size();
        if self.dtype.bits() == 4 {
            if let (Some(place), [code]) =
                (self.bytes.get_mut(at / 2), &Self::of_number(self.dtype, value)[..])
            {
                let shift = 4 * (at % 2);
                *place = *place & !(LOW_BITS << shift) | code << shift;
            }
            return;
        }
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
            // About two units in the last place, and a quarter of one.
            DType::F8e4m3 => (0.25, 3e-2),
            DType::F8e5m2 | DType::F4e2m1 => (0.5, 6e-2),
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
            // The smallest types have no larger indices.
            let length = match dtype {
                DType::Bool => 2,
                DType::F4e2m1 | DType::I4 => 4,
                DType::F8e4m3 | DType::F8e5m2 => 8,
                _ => 100,
            };
            let parts = dtype.bits() / dtype.part().bits();
            let indices = filled(dtype, length, Fill::Index);
            let length = length as usize;
            assert_eq!(indices.bytes().len(), length * dtype.bits() / 8, "{dtype:?}");
            assert_eq!(indices.len(), length * parts, "{dtype:?}");
            assert!((0..length).all(|at| indices.get(at * parts) == at as f64), "{dtype:?}");
            assert!(indices.get(length * parts).is_nan());
            let ones = filled(dtype, 5, Fill::Value { value: 1.0 });
            assert!((0..5).all(|at| ones.get(at * parts) == 1.0), "{dtype:?}");
            assert!(parts == 1 || ones.get(1) == 0.0);
            let one = HostBuffer::new(dtype, HostBuffer::of_number(dtype, 1.0));
            assert_eq!((one.get(0), one.bytes().len()), (1.0, dtype.size()), "{dtype:?}");
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
        let packed = filled(DType::I4, 2 * PERIOD as u64 + 7, Fill::Uniform { low: -8.0, high: 8.0 });
        let seen: std::collections::BTreeSet<i32> = (0..200).map(|at| packed.get(at) as i32).collect();
        assert!(seen.into_iter().eq(-8..8) && packed.get(1) == packed.get(2 * PERIOD + 1));
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
            assert!(!dtype.is_floating() || dtype == DType::F4e2m1 || buffer.get(1).is_nan());
            (0..buffer.len()).for_each(|at| buffer.set(at, 1.0));
            assert!(!buffer.has_poison(), "{dtype:?}");
        }
    }
}
