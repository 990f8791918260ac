use crate::model::{DType, Fill};
use crate::micro::spec::MicroError;
pub struct HostBuffer { dtype: DType, bytes: Vec<u8> }
impl HostBuffer {
    pub fn new(dtype: DType, bytes: Vec<u8>) -> Self { Self { dtype, bytes } }
    pub fn filled(dtype: DType, length: u64, _fill: &Fill, _r: &mut impl rand::Rng) -> Result<Self, MicroError> { Ok(Self { dtype, bytes: vec![0; length as usize * dtype.size()] }) }
    pub fn of_number(dtype: DType, value: f64) -> Vec<u8> { let _ = value; vec![0; dtype.size()] }
    pub fn bytes(&self) -> &[u8] { &self.bytes }
    pub fn len(&self) -> usize { self.bytes.len() / self.dtype.size() }
    pub fn get(&self, _at: usize) -> f64 { 0.0 }
}
