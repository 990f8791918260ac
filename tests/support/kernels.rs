//! Repositories with CUDA kernels, whose commits are measured on the stand-ins: real machine code, computed times. The file `card` of each
//! commit says how fast its kernels are.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use gbench_ci::compare::{Verdict, VerdictDocument};
use gbench_ci::model::RunRecord;
use tempfile::TempDir;

use super::built::built;
use super::cli::{Ran, ended};
use super::gpu::StandIn;
use super::repository::Repository;
use crate::fake_cuda;

/// Relative deviations of one kernel and of a whole process, as cards at work have them.
pub const NOISE: &str = "noise=0.004 process_noise=0.006";

pub const SAXPY: &str = "extern \"C\" __global__ void saxpy(float a, const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
";
pub const SCALE: &str = "extern \"C\" __global__ void scale(float a, const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}
";
/// The same answer by way of a table in each thread, which registers do not hold.
pub const SLOW_SAXPY: &str =
    "extern \"C\" __global__ void __launch_bounds__(256, 8) saxpy(float a, const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float near[64];
#pragma unroll
    for (int k = 0; k < 64; k++) near[k] = a * x[(i + k) % n];
    // Each of them once, in an order that the compiler does not know.
    for (int k = 0; k < 64; k++) near[(7 * k + i) & 63] += 1.0f;
    y[i] = near[0] - 1.0f + y[i];
}
";

/// A file below `kernels`, the kernels in it, and its text.
pub type Source<'a> = (&'a str, &'a [&'a str], &'a str);

pub const SAXPY_FILE: Source = ("saxpy.cu", &["saxpy"], SAXPY);
pub const SCALE_FILE: Source = ("scale.cu", &["scale"], SCALE);
pub const IGNORED: (&str, &str) = (".gitignore", "artifacts/\n");

/// A repository whose commits are measured on the stand-in.
pub struct Gate {
    pub repository: Repository,
    pub stand_in: StandIn,
}

impl Gate {
    /// An empty repository. `settings`: of the stand-in, for both sides.
    pub fn new(stand_in: &StandIn, settings: &str) -> Self {
        let repository = Repository { folder: TempDir::new().unwrap() };
        repository.git(&["init", "--quiet", "--initial-branch", "main"]);
        std::fs::create_dir(repository.root().join("kernels")).unwrap();
        std::fs::create_dir(repository.root().join(".git/gpu")).unwrap();
        let counter = repository.root().join(".git/gpu/processes");
        // A small cache: twice as much is written before the samples of each process.
        let settings = format!("l2=2M counter={} {settings}", counter.display());
        let stand_in = stand_in.clone().with_file("card").with(&settings);
        Self { repository, stand_in }
    }

    /// Commits kernels with their CPU twins, and other files.
    pub fn commit(&self, sources: &[Source], files: &[(&str, &str)]) {
        let root = self.repository.root();
        for (name, _, text) in sources {
            std::fs::write(root.join("kernels").join(name), text).unwrap();
        }
        if !sources.is_empty() {
            std::fs::copy(twins(sources), root.join("twins.so")).unwrap();
        }
        // The stand-in counts its processes.
        let place = format!("[gate]\nwritable = ['{}']\n", root.join(".git/gpu").display());
        let with_place = |text: &str| match text.contains("[gate]\n") {
            true => text.replace("[gate]\n", &place),
            false => format!("{text}\n{place}"),
        };
        let files = files.iter().map(|(name, text)| match *name {
            "gbench.toml" => (*name, with_place(text)),
            _ => (*name, (*text).to_owned()),
        });
        let files: Vec<_> = files.collect();
        let files: Vec<_> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
        self.repository.commit(&files);
    }

    pub fn ran(&self, line: &str) -> Ran {
        ended(self.stand_in.command(self.repository.root(), line))
    }

    /// The latest commit against the one before it; as few samples as tell something.
    pub fn compare(&self, line: &str) -> Ran {
        self.ran(&format!("compare HEAD~1..HEAD --quiet --warmup 2 --iterations 10 {line}"))
    }

    /// What the latest comparison says of a side.
    pub fn record(&self, side: &str) -> RunRecord {
        let path = self.repository.latest().join(side).join("results/record.json");
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
    }
}

/// The twins of these kernels, compiled once for each text.
fn twins(sources: &[Source]) -> PathBuf {
    let text: String = sources.iter().map(|(_, _, text)| *text).collect();
    let kernels: Vec<(&str, &str)> =
        sources.iter().flat_map(|(_, kernels, _)| kernels.iter().map(|name| (*name, *name))).collect();
    let stand_in = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake_cuda");
    let folder = built("gate_twins", &[&stand_in], &format!("{kernels:?}{text}"), |folder| {
        let source = folder.join("kernels.cu");
        std::fs::write(&source, &text).unwrap();
        fake_cuda::twins_of_kernels(&source, &kernels, &[], &folder.join("twins.so")).unwrap();
    });
    folder.join("twins.so")
}

/// One card, whose kernels have their twins in each commit; `None` without the tools.
pub fn stand_in() -> Option<StandIn> {
    Some(StandIn::new()?.with_twins("twins.so"))
}

/// A suite of these kernels over 4,096 elements. `each`: lines of every benchmark.
pub fn suite(head: &str, kernels: &[(&str, &str)], each: &str) -> String {
    let case = |(name, file): &(&str, &str)| {
        format!(
            "[[benchmark]]\nid = \"{name}\"\nmatrix = {{ n = [4096] }}\n{each}\n[benchmark.cuda]\nfile = \"kernels/{file}\"\n\
             entry = \"{name}\"\ngrid = \"ceil_div(n, 256)\"\nblock = 256\narguments = [\n    {{ value = 1.5, type = \"f32\" }},\n    \
             {{ input = \"f32\", length = \"n\" }},\n    {{ inout = \"f32\", length = \"n\" }},\n    {{ value = \"n\", type = \"i32\" }},\n]\n\n"
        )
    };
    format!("[suite]\nname = \"s\"\n\n{head}\n\n{}", kernels.iter().map(case).collect::<String>())
}

pub const TWO: [(&str, &str); 2] = [("saxpy", "saxpy.cu"), ("scale", "scale.cu")];
/// What other tests do on this machine meanwhile is not looked at: the card's time is computed.
pub const UNWATCHED: &str = "[gate]\nwatch = false\n";

/// Six kernels of one file, and how long they take in milliseconds: long enough that a sample is one call, so that how many calls come
/// before it is the same each time, and the noise with it.
pub const SIX: [(&str, f64); 6] =
    [("k_a", 0.20), ("k_b", 0.13), ("k_c", 0.31), ("k_d", 1.00), ("k_e", 0.11), ("k_f", 0.55)];

/// Six kernels, of which the head makes one slower by a factor. `number`: of the comparison, which its noise depends on.
pub fn six(stand_in: &StandIn, number: u64, planted: Option<(usize, f64)>) -> Gate {
    static TEXT: OnceLock<String> = OnceLock::new();
    let text = TEXT.get_or_init(|| SIX.iter().map(|(name, _)| SCALE.replace("scale", name)).collect());
    let card = |planted: Option<(usize, f64)>| {
        let factor = |at: usize| planted.map_or(1.0, |(slow, factor)| if slow == at { factor } else { 1.0 });
        let line =
            |(at, (name, ms)): (usize, &(&str, f64))| format!("kernel.{name}={:.6}\n", ms * factor(at));
        SIX.iter().enumerate().map(line).collect::<String>()
    };
    let gate = Gate::new(stand_in, &format!("{NOISE} seed={number}"));
    let names = SIX.map(|(name, _)| name);
    gate.commit(
        &[("six.cu", &names, text)],
        &[
            ("gbench.toml", &suite(UNWATCHED, &names.map(|name| (name, "six.cu")), "")),
            ("card", &card(None)),
            IGNORED,
        ],
    );
    gate.commit(&[], &[("card", &card(planted)), ("note", "a change\n")]);
    gate
}

/// Times that are red though nothing changed in them.
pub fn falsely_red(verdict: &VerdictDocument, planted: Option<usize>) -> usize {
    let slow = planted.map(|at| SIX[at].0);
    let red = verdict.rows.iter().filter(|row| row.verdict == Verdict::Regressed);
    red.filter(|row| Some(row.case.benchmark.name()) != slow).count()
}
