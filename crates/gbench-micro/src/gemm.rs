//! The matrix product of crate `matrixmultiply` as a safe function over slices.

pub(super) trait Real: Copy + Default {
    /// Twice the unit roundoff: the distance from 1 to the next number.
    const EPSILON: f64;

    fn from_f64(value: f64) -> Self;
    fn to_f64(self) -> f64;

    /// `c = a * b` for row-major matrices of `n` rows and columns. Panics unless each has `n * n` elements.
    fn multiply(n: usize, a: &[Self], b: &[Self], c: &mut [Self]);
}

/// Row stride and column stride of a row-major square matrix of `n` columns.
fn strides(n: usize) -> (isize, isize) {
    // A slice of n * n elements exists, so n is far below isize::MAX.
    (n as isize, 1)
}

macro_rules! real {
    ($type:ty, $multiply:path) => {
        impl Real for $type {
            const EPSILON: f64 = <$type>::EPSILON as f64;

            fn from_f64(value: f64) -> Self {
                value as $type
            }

            fn to_f64(self) -> f64 {
                self as f64
            }

            fn multiply(n: usize, a: &[Self], b: &[Self], c: &mut [Self]) {
                assert!([a.len(), b.len(), c.len()] == [n * n; 3], "matrices of {n} rows and columns");
                let (row, column) = strides(n);
                let (a, b, c) = (a.as_ptr(), b.as_ptr(), c.as_mut_ptr());
                // SAFETY: each pointer is to the first of n * n elements, as asserted, which is all that strides (n, 1) reach;
                // c is borrowed mutably and so overlaps neither a nor b.
                unsafe { $multiply(n, n, n, 1.0, a, row, column, b, row, column, 0.0, c, row, column) }
            }
        }
    };
}

real!(f32, matrixmultiply::sgemm);
real!(f64, matrixmultiply::dgemm);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_product_is_row_by_column() {
        let mut c = [0.0; 4];
        f64::multiply(2, &[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0], &mut c);
        assert_eq!(c, [19.0, 22.0, 43.0, 50.0]);
    }

    #[test]
    #[should_panic(expected = "matrices of 3 rows")]
    fn a_matrix_of_another_size_is_refused() {
        f32::multiply(3, &[0.0; 9], &[0.0; 8], &mut [0.0; 9]);
    }
}
