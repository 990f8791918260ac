//! Floating-point numbers of eight and four bits, as the Open Compute Project defines them: FP8 in E4M3 and E5M2, and FP4.

use gbench_model::DType;

/// The layout of such a type below its sign. Its exponent's bias is half of the exponent's range.
#[derive(Clone, Copy)]
pub(super) struct MiniFloat {
    exponent: i32,
    mantissa: i32,
    /// The code of the largest number.
    largest: u8,
    /// The code of the infinity, if there is one. The codes above it, or else above the largest number, are not numbers.
    infinity: Option<u8>,
}

impl MiniFloat {
    pub(super) const fn of(dtype: DType) -> Option<Self> {
        match dtype {
            DType::F8e4m3 => Some(Self { exponent: 4, mantissa: 3, largest: 0x7e, infinity: None }),
            DType::F8e5m2 => Some(Self { exponent: 5, mantissa: 2, largest: 0x7b, infinity: Some(0x7c) }),
            DType::F4e2m1 => Some(Self { exponent: 2, mantissa: 1, largest: 0x7, infinity: None }),
            _ => None,
        }
    }

    fn sign(self) -> u8 {
        1 << (self.exponent + self.mantissa)
    }

    fn bias(self) -> i32 {
        (1 << (self.exponent - 1)) - 1
    }

    pub(super) fn decode(self, code: u8) -> f64 {
        let below = code & (self.sign() - 1);
        let sign = if code & self.sign() == 0 { 1.0 } else { -1.0 };
        if self.infinity == Some(below) {
            return sign * f64::INFINITY;
        }
        if below > self.largest {
            return f64::NAN;
        }
        let (exponent, mantissa) =
            (i32::from(below) >> self.mantissa, i32::from(below) & ((1 << self.mantissa) - 1));
        let whole = if exponent == 0 { mantissa } else { mantissa + (1 << self.mantissa) };
        sign * f64::from(whole) * f64::powi(2.0, exponent.max(1) - self.bias() - self.mantissa)
    }

    /// The nearest number, of two the one whose code is even. Values that are too large, infinities included, become the largest
    /// number, as in CUDA's conversions that saturate. NaN becomes the code of all ones, which in FP4 is a number.
    pub(super) fn encode(self, value: f64) -> u8 {
        let sign = if value.is_sign_negative() { self.sign() } else { 0 };
        if value.is_nan() {
            return sign | (self.sign() - 1);
        }
        let size = value.abs().min(self.decode(self.largest));
        // The exponent of a normal number of 64 bits; of smaller ones the type has none.
        let exponent = (((size.to_bits() >> 52) as i32) - 1023).max(1 - self.bias());
        let steps = (size / f64::powi(2.0, exponent - self.mantissa)).round_ties_even() as i32;
        // Steps beyond the mantissa carry into the exponent.
        sign | (((exponent + self.bias()) << self.mantissa) + steps - (1 << self.mantissa)) as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(dtype: DType) -> (MiniFloat, Vec<f64>) {
        let float = MiniFloat::of(dtype).unwrap();
        (float, (0..=2 * (float.sign() - 1) + 1).map(|code| float.decode(code)).collect())
    }

    #[test]
    fn numbers_are_those_of_the_specification() {
        // The specification's tables: largest, smallest normal and smallest subnormal number.
        let known = [
            (DType::F8e4m3, [(0x7e, 448.0), (0x08, 0.015625), (0x01, 0.001953125), (0xb8, -1.0)]),
            (
                DType::F8e5m2,
                [(0x7b, 57344.0), (0x04, 6.103515625e-5), (0x01, 1.52587890625e-5), (0xbc, -1.0)],
            ),
            (DType::F4e2m1, [(0x7, 6.0), (0x2, 1.0), (0x1, 0.5), (0xa, -1.0)]),
        ];
        for (dtype, numbers) in known {
            let float = MiniFloat::of(dtype).unwrap();
            for (code, number) in numbers {
                assert_eq!((float.decode(code), float.encode(number)), (number, code), "{dtype:?}");
            }
        }
        let (four, numbers) = all(DType::F4e2m1);
        assert_eq!(numbers[..8], [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]);
        assert_eq!([five(0x7c), -five(0xfc)], [f64::INFINITY; 2]);
        assert!(five(0x7d).is_nan() && MiniFloat::of(DType::F8e4m3).unwrap().decode(0xff).is_nan());
        assert_eq!(four.decode(four.encode(-9.0)), -6.0);
    }

    fn five(code: u8) -> f64 {
        MiniFloat::of(DType::F8e5m2).unwrap().decode(code)
    }

    #[test]
    fn a_value_becomes_the_nearest_number_and_of_two_the_even_one() {
        for dtype in [DType::F8e4m3, DType::F8e5m2, DType::F4e2m1] {
            let (float, numbers) = all(dtype);
            let positive = (0..float.sign()).zip(numbers).filter(|(_, number)| number.is_finite());
            let finite: Vec<(u8, f64)> = positive.collect();
            for pair in finite.windows(2) {
                let [(low, from), (high, to)] = pair else { panic!("windows of two") };
                let middle = (from + to) / 2.0;
                let even = if low % 2 == 0 { low } else { high };
                for (value, code) in
                    [(*from, low), (middle.next_down(), low), (middle, even), (middle.next_up(), high)]
                {
                    assert_eq!(float.encode(value), *code, "{dtype:?} {value}");
                    assert_eq!(float.encode(-value), code | float.sign(), "{dtype:?} -{value}");
                }
            }
        }
    }
}
