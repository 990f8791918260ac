//! `[benchmark.cuda]`: a kernel of a `.cu` file or of an image, measured without host code. Each case becomes a [`KernelCall`] for the child.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::element_type::ElementType;
use super::kernel_number::{KernelNumber, whole};
use super::template::{find_word, substitute, with_params};
use super::tensor_map::CudaTensorMap;
use gbench_model::{
    Access, DType, Fill, KernelArgument, KernelCall, KernelLaunch, KernelReference, ParamValue, Params,
    Tolerance, buffers,
};

/// The parameter of a case whose data may be in the L2 cache. Cold is the default and has no parameter.
pub(crate) const FLUSH_L2: &str = "cuda.flush_l2";

/// The parameter of a case whose card is loaded before the samples, in seconds. Bursts, the default, have no parameter.
pub(crate) const SUSTAINED: &str = "cuda.sustained";

/// Maxima of every CUDA device: blocks by axis, threads by axis, threads of a block.
pub(crate) const MAX_GRID: [u64; 3] = [(1 << 31) - 1, 65_535, 65_535];
pub(crate) const MAX_BLOCK: [u64; 3] = [1024, 1024, 64];
pub(super) const MAX_THREADS: u64 = 1024;
/// Blocks of a cluster on the cards that take the most; every card that has clusters takes 8.
pub(crate) const MAX_CLUSTER: u64 = 16;
/// Maximum number of elements: larger than any device's memory.
pub(crate) const MAX_LENGTH: u64 = 1 << 50;

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CudaEntry {
    /// Relative to the benchmark's folder.
    pub file: String,
    /// It is a cubin, a fatbin or PTX, and not a source.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub image: bool,
    /// `{name}` is replaced by a parameter, here and in `options`.
    pub entry: String,
    pub options: Vec<String>,
    /// Folders, relative to the benchmark's.
    pub include: Vec<String>,
    #[serde(flatten)]
    pub launch: CudaLaunch,
    pub arguments: Vec<CudaArgument>,
    /// Buffers that are read, by the name of a variable of the source.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub data: BTreeMap<String, CudaArgument>,
    pub reference: Option<CudaReference>,
    /// Cold, hot or both, as in the file.
    pub flush_l2: Vec<bool>,
    /// The type of the multiplied elements, from which the card's peak follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multiplies: Option<ElementType>,
    /// Seconds for which the card is loaded before the samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sustained: Option<f64>,
}

/// Missing axes have one block, or thread.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CudaLaunch {
    pub grid: Vec<KernelNumber>,
    pub block: Vec<KernelNumber>,
    /// Bytes of dynamic shared memory.
    pub shared: Option<KernelNumber>,
    /// Blocks of a cluster.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cluster: Vec<KernelNumber>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cooperative: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum CudaArgument {
    Buffer {
        access: Access,
        dtype: ElementType,
        length: KernelNumber,
        fill: CudaFill,
    },
    Scalar {
        dtype: ElementType,
        value: KernelNumber,
    },
    /// By value, laid out as C does.
    Struct {
        fields: Vec<CudaArgument>,
    },
    /// A buffer that the kernel gets as the map of it.
    TensorMap {
        buffer: Box<CudaArgument>,
        map: CudaTensorMap,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum CudaFill {
    Uniform {
        low: KernelNumber,
        high: KernelNumber,
    },
    /// Random numbers of the type's usual range. A parameter names the type.
    Usual,
    Value {
        value: f64,
    },
    Index,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CudaReference {
    pub entry: String,
    #[serde(flatten)]
    pub launch: CudaLaunch,
    /// `None`: the default of each written type.
    pub absolute: Option<f64>,
    pub relative: Option<f64>,
}

/// In `grid`, unless a parameter has this name: the number of the card's multiprocessors, which only a process on the card knows.
pub(crate) const SMS: &str = "sms";
/// More than any card has.
const MOST_SMS: u32 = 512;
/// Those of a card on which an expression is checked before one is known.
pub(crate) const USUAL_SMS: u32 = 132;

/// The parameters on a card with so many multiprocessors.
pub(crate) fn on_card(params: &Params, sms: u32) -> Params {
    let mut params = params.clone();
    params.entry(SMS.to_owned()).or_insert(ParamValue::Int(sms.into()));
    params
}

/// True if an expression depends on the card. `has`: whether a parameter exists.
pub(crate) fn is_of_card(text: &str, has: impl Fn(&str) -> bool) -> bool {
    !has(SMS) && find_word(text, SMS).is_some()
}

impl CudaLaunch {
    /// As in the file.
    pub fn grid(&self) -> String {
        shown_numbers(&self.grid)
    }

    /// The launch on a usual card, and, if the grid depends on the card, that by multiprocessors.
    pub(crate) fn on_cards(
        &self,
        params: &Params,
    ) -> Result<(KernelLaunch, BTreeMap<u32, [u32; 3]>), String> {
        let depends = |it: &KernelNumber| match it {
            KernelNumber::Number(_) => false,
            KernelNumber::Expression(text) => is_of_card(text, |name| params.contains_key(name)),
        };
        let of = |sms| Some((sms, self.of(&on_card(params, sms)).ok()?.grid));
        let most = if self.grid.iter().any(depends) { MOST_SMS } else { 0 };
        let grids: BTreeMap<_, _> = (1..=most).filter_map(of).collect();
        let launch = match (self.of(params), grids.keys().next()) {
            // The usual number gives none, another one does.
            (Err(_), Some(sms)) => self.of(&on_card(params, *sms))?,
            (launch, _) => launch?,
        };
        Ok((launch, grids))
    }

    /// Errors: why it cannot be computed for these parameters.
    pub fn of(&self, params: &Params) -> Result<KernelLaunch, String> {
        let shared = |shared: &KernelNumber| shared.whole(params, &(0..=u64::from(u32::MAX)));
        let shared = self.shared.as_ref().map_or(Ok(0), shared).map_err(|why| format!("`shared`: {why}"))?;
        let launch = KernelLaunch {
            grid: axes(&self.grid, &on_card(params, USUAL_SMS), MAX_GRID)
                .map_err(|why| format!("`grid`: {why}"))?,
            block: axes(&self.block, params, MAX_BLOCK).map_err(|why| format!("`block`: {why}"))?,
            shared_bytes: shared as u32,
            cluster: match self.cluster.as_slice() {
                [] => None,
                said => {
                    Some(axes(said, params, [MAX_CLUSTER; 3]).map_err(|why| format!("`cluster`: {why}"))?)
                }
            },
            cooperative: self.cooperative,
        };
        threads(launch.block)?;
        check_cluster(&launch)?;
        Ok(launch)
    }
}

/// Errors: the cluster is too large, or the grid does not consist of such clusters.
fn check_cluster(launch: &KernelLaunch) -> Result<(), String> {
    let Some(cluster) = launch.cluster else { return Ok(()) };
    let blocks = cluster.into_iter().map(u64::from).product::<u64>();
    if blocks > MAX_CLUSTER {
        return Err(format!("`cluster`: {blocks} blocks, and a cluster has at most {MAX_CLUSTER}"));
    }
    if launch.grid.iter().zip(cluster).any(|(blocks, cluster)| blocks % cluster != 0) {
        let [grid, cluster] = [launch.grid, cluster].map(shown_axes);
        return Err(format!(
            "`cluster`: a grid of {grid} blocks cannot be divided into clusters of {cluster}"
        ));
    }
    Ok(())
}

pub(crate) fn threads(block: [u32; 3]) -> Result<u64, String> {
    let threads = block.into_iter().map(u64::from).product();
    if threads > MAX_THREADS {
        return Err(format!("`block`: {threads} threads, and a block has at most {MAX_THREADS}"));
    }
    Ok(threads)
}

pub(crate) fn axes(said: &[KernelNumber], params: &Params, most: [u64; 3]) -> Result<[u32; 3], String> {
    let mut axes = [1; 3];
    for ((axis, number), most) in axes.iter_mut().zip(said).zip(most) {
        *axis = number.whole(params, &(1..=most))? as u32;
    }
    Ok(axes)
}

impl CudaArgument {
    /// The buffers among it and its fields.
    pub fn buffers(&self) -> Vec<&CudaArgument> {
        match self {
            CudaArgument::Buffer { .. } => vec![self],
            CudaArgument::Scalar { .. } => Vec::new(),
            CudaArgument::Struct { fields } => fields.iter().flat_map(CudaArgument::buffers).collect(),
            CudaArgument::TensorMap { buffer, .. } => buffer.buffers(),
        }
    }

    pub(crate) fn of(&self, params: &Params) -> Result<KernelArgument, String> {
        match self {
            CudaArgument::Struct { fields } => {
                let fields = fields.iter().map(|field| field.of(params)).collect::<Result<_, _>>()?;
                Ok(KernelArgument::Struct { fields })
            }
            CudaArgument::TensorMap { buffer, map } => {
                let buffer = Box::new(buffer.of(params)?);
                let described = buffers(std::slice::from_ref(&*buffer));
                let described = described.first().ok_or("it is not the map of a buffer")?;
                Ok(KernelArgument::TensorMap { map: map.of(params, described)?, buffer })
            }
            CudaArgument::Scalar { dtype, value } => {
                let (dtype, value) = (dtype.of(params)?, value.of(params)?);
                fits(dtype, value)?;
                Ok(KernelArgument::Scalar { dtype, value })
            }
            CudaArgument::Buffer { access, dtype, length, fill } => {
                let dtype = dtype.of(params)?;
                let fill = match fill {
                    CudaFill::Index => Fill::Index,
                    CudaFill::Value { value } => {
                        fits(dtype, *value)?;
                        Fill::Value { value: *value }
                    }
                    CudaFill::Usual => {
                        let (low, high) = usual_range(dtype);
                        Fill::Uniform { low, high }
                    }
                    CudaFill::Uniform { low, high } => {
                        let (low, high) = (low.of(params)?, high.of(params)?);
                        check_range(dtype, low, high)?;
                        Fill::Uniform { low, high }
                    }
                };
                let length = length.whole(params, &(1..=MAX_LENGTH))?;
                Ok(KernelArgument::Buffer { dtype, length, access: *access, fill })
            }
        }
    }
}

/// From -1 to 1. Integers from 0 to 99, which are a valid index into most buffers.
pub(crate) fn usual_range(dtype: DType) -> (f64, f64) {
    bounds(dtype).map_or((-1.0, 1.0), |(_, most)| (0.0, f64::min(most + 1.0, 100.0)))
}

/// The tolerated error of each written buffer, by its type. Those of 16 bits and more are held to the coarsest of them, in which
/// the others may have been computed; coarser types would hide what is wrong in the others.
fn usual_tolerances(written: &[DType]) -> Vec<Tolerance> {
    let of = |dtype: DType| match dtype.part() {
        DType::F64 => 1e-9,
        DType::F32 => 1e-5,
        DType::F16 => 2e-3,
        DType::Bf16 => 2e-2,
        _ => 0.0,
    };
    let coarsest = written.iter().map(|dtype| of(*dtype)).fold(0.0, f64::max);
    let usual = |dtype: &DType| {
        // A step between subnormal numbers, and a unit in the last place.
        let (absolute, relative) = match dtype {
            DType::F8e4m3 => (f64::powi(2.0, -9), 0.125),
            DType::F8e5m2 => (f64::powi(2.0, -16), 0.25),
            // A step from each number to the next.
            DType::F4e2m1 => (0.5, 0.25),
            dtype if of(*dtype) > 0.0 => (coarsest, coarsest),
            _ => (0.0, 0.0),
        };
        Tolerance { absolute, relative }
    };
    written.iter().map(usual).collect()
}

/// Random numbers are from `low` to `high`, integers below `high`.
pub(crate) fn check_range(dtype: DType, low: f64, high: f64) -> Result<(), String> {
    if low >= high {
        return Err(format!("the range from {low} to {high} is empty"));
    }
    fits(dtype, low)?;
    fits(dtype, if bounds(dtype).is_some() { high - 1.0 } else { high })
}

pub(crate) fn fits(dtype: DType, value: f64) -> Result<(), String> {
    let name: &str = dtype.into();
    if let Some((low, high)) = bounds(dtype) {
        if value.fract() != 0.0 {
            return Err(format!("{value} is not a whole number, which `{name}` needs"));
        }
        if value < low || value > high {
            return Err(format!("{value} does not fit `{name}`, which ranges from {low} to {high}"));
        }
        return Ok(());
    }
    let most = match dtype.part() {
        DType::F16 => 65_504.0,
        DType::F8e4m3 => 448.0,
        DType::F8e5m2 => 57_344.0,
        DType::F4e2m1 => 6.0,
        DType::F32 | DType::Bf16 => f64::from(f32::MAX),
        _ => f64::MAX,
    };
    if value.abs() > most {
        return Err(format!("{value} does not fit `{name}`, whose maximum is {most}"));
    }
    Ok(())
}

/// Minimum and maximum of an integer type; of 64 bits only as far as an `f64` is exact.
fn bounds(dtype: DType) -> Option<(f64, f64)> {
    use super::kernel_number::EXACT;
    match dtype {
        _ if dtype.is_floating() => None,
        DType::I64 => Some((-EXACT, EXACT)),
        DType::U64 => Some((0.0, EXACT)),
        DType::I32 => Some((f64::from(i32::MIN), f64::from(i32::MAX))),
        DType::U32 => Some((0.0, f64::from(u32::MAX))),
        DType::I16 => Some((f64::from(i16::MIN), f64::from(i16::MAX))),
        DType::U16 => Some((0.0, f64::from(u16::MAX))),
        DType::I8 => Some((f64::from(i8::MIN), f64::from(i8::MAX))),
        DType::U8 => Some((0.0, f64::from(u8::MAX))),
        DType::I4 => Some((-8.0, 7.0)),
        DType::Bool => Some((0.0, 1.0)),
        _ => None,
    }
}

impl fmt::Display for CudaLaunch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "grid {}, block {}", self.grid(), shown_numbers(&self.block))?;
        self.shared.as_ref().map_or(Ok(()), |shared| write!(f, ", shared {shared} B"))?;
        if !self.cluster.is_empty() {
            write!(f, ", cluster {}", shown_numbers(&self.cluster))?;
        }
        f.write_str(if self.cooperative { ", cooperative" } else { "" })
    }
}

fn shown_numbers(said: &[KernelNumber]) -> String {
    said.iter().map(KernelNumber::to_string).collect::<Vec<_>>().join(" x ")
}

pub fn shown_axes(axes: [u32; 3]) -> String {
    let said = 3 - axes.iter().rev().take_while(|axis| **axis == 1).count();
    axes[..said.max(1)].iter().map(u32::to_string).collect::<Vec<_>>().join("x")
}

impl CudaEntry {
    /// The request to the child of a case. `work`: of one launch, by unit. Errors: why it cannot be computed for these
    /// parameters.
    pub(crate) fn call(
        &self,
        params: &Params,
        dir: &Path,
        work: &[(&'static str, f64)],
    ) -> Result<KernelCall, String> {
        let one = |text: &String| with_params(text, params);
        let arguments: Result<Vec<_>, String> = (1..)
            .zip(&self.arguments)
            .map(|(at, argument)| argument.of(params).map_err(|why| format!("argument {at}: {why}")))
            .collect();
        let arguments = arguments?;
        let data = self.data.iter().map(|(name, value)| {
            let value = value.of(params).map_err(|why| format!("`data.{name}`: {why}"))?;
            Ok::<_, String>((name.clone(), value))
        });
        let data = data.collect::<Result<_, _>>()?;
        let written = buffers(&arguments).into_iter().filter(|it| it.access != Access::Input);
        let written = written.map(|it| it.dtype);
        let usual = usual_tolerances(&written.collect::<Vec<_>>());
        let reference = self.reference.as_ref().map(|reference| {
            let launch = reference.launch.on_cards(params).map_err(|why| format!("`reference`: {why}"));
            let (launch, grids) = launch?;
            let tolerance = |usual: &Tolerance| Tolerance {
                absolute: reference.absolute.unwrap_or(usual.absolute),
                relative: reference.relative.unwrap_or(usual.relative),
            };
            Ok::<_, String>(KernelReference {
                entry: one(&reference.entry),
                launch,
                grids,
                tolerances: usual.iter().map(tolerance).collect(),
            })
        });
        let (launch, grids) = self.launch.on_cards(params)?;
        let amount = |unit: &str| work.iter().find(|(other, _)| *other == unit).map(|(_, amount)| *amount);
        Ok(KernelCall {
            file: dir.join(with_params(&self.file, params)),
            image: self.image,
            entry: one(&self.entry),
            options: substitute(&self.options, params),
            include: self.include.iter().map(|folder| dir.join(folder)).collect(),
            launch,
            grids,
            arguments,
            data,
            reference: reference.transpose()?,
            flush_l2: params.get(FLUSH_L2) != Some(&ParamValue::Bool(false)),
            sustained: self.sustained,
            bytes: amount("bytes"),
            flops: amount("flops"),
            multiplies: self.multiplies.as_ref().map(|dtype| dtype.of(params)).transpose()?,
        })
    }

    /// The folder that has the files of all cases: that of the file, without parts that parameters name.
    pub fn folder(&self, dir: &Path) -> PathBuf {
        let parts = Path::new(&self.file).parent().into_iter().flat_map(Path::components);
        dir.join(
            parts.take_while(|part| !part.as_os_str().to_string_lossy().contains('{')).collect::<PathBuf>(),
        )
    }
}

pub(crate) fn check_axis(value: f64, most: u64) -> Result<(), String> {
    whole(value, &(1..=most)).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_that_hold_one_are_not_shown() {
        assert_eq!(shown_axes([4096, 1, 1]), "4096");
        assert_eq!(shown_axes([1, 1, 1]), "1");
        assert_eq!(shown_axes([1, 8, 1]), "1x8");
        assert_eq!(shown_axes([2, 1, 3]), "2x1x3");
    }

    #[test]
    fn a_type_holds_what_it_holds() {
        for (dtype, value) in
            [(DType::I8, -128.0), (DType::U8, 255.0), (DType::F16, 65_504.0), (DType::F64, 1e308)]
        {
            assert_eq!(fits(dtype, value), Ok(()));
        }
        for (dtype, value) in
            [(DType::I8, 128.0), (DType::U32, -1.0), (DType::I32, 1.5), (DType::F16, 7e4), (DType::F32, 1e39)]
        {
            assert!(fits(dtype, value).is_err(), "{dtype:?} {value}");
        }
        assert_eq!(check_range(DType::U8, 0.0, 256.0), Ok(()));
        assert!(check_range(DType::U8, 0.0, 257.0).is_err() && check_range(DType::F32, 1.0, 1.0).is_err());
    }

    /// An answer of zeros must not be within the tolerance of what is usual, nor one type's tolerance hide errors of another.
    #[test]
    fn usual_tolerances_are_of_each_type_and_do_not_take_zero_for_one() {
        let all =
            [DType::F16, DType::F32, DType::F8e4m3, DType::F8e5m2, DType::F4e2m1, DType::Bool, DType::U8];
        let tolerances = usual_tolerances(&all);
        for (dtype, tolerance) in all.iter().zip(&tolerances) {
            assert!(tolerance.absolute + tolerance.relative < 1.0, "{dtype:?}");
        }
        assert_eq!(tolerances[0], tolerances[1]);
        assert_eq!([5, 6].map(|at| tolerances[at].absolute), [0.0, 0.0]);
        // A step from any number of FP4 to the next is rounding.
        for (one, other) in [(0.0, 0.5), (0.5, 1.0), (1.5, 2.0), (2.0, 3.0), (3.0, 4.0), (6.0, 4.0)] {
            let fp4 = tolerances[4];
            assert!(f64::abs(one - other) <= fp4.absolute + fp4.relative * f64::abs(one), "{one} {other}");
        }
    }
}
