//! What the assembler says of each function when it runs with `-v`: how much it spilled. The machine code does not say.
//!
//! NVRTC hands the same lines out as its program's log when it is called with `--ptxas-options=-v`. They read alike in
//! 12.9 and 13.5; before the sizes stand four blanks, or `ptxas         .     ` in NVRTC's log:
//!
//! ```text
//! ptxas info    : Function properties for _Z7spillerPKfPf
//!     1128 bytes stack frame, 1792 bytes spill stores, 2160 bytes spill loads
//! ```

use std::collections::BTreeMap;

const FUNCTION: &str = "Function properties for ";

/// Bytes of one thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spills {
    pub store: u64,
    pub load: u64,
    /// The function's own frame, without those of what it calls.
    pub frame: u64,
}

/// By the function's name as the code has it. A function that the log names several times, because several kernels call it
/// or several architectures were compiled, has the largest of each size. Lines of other kinds are passed over.
pub fn spills(log: &str) -> BTreeMap<String, Spills> {
    let mut all = BTreeMap::<String, Spills>::new();
    let mut function = None;
    for line in log.lines() {
        if let Some((_, name)) = line.split_once(FUNCTION) {
            function = Some(name.trim());
        } else if let Some(spills) = sizes(line)
            && let Some(name) = function.take()
        {
            let known = all.entry(name.to_owned()).or_default();
            known.store = known.store.max(spills.store);
            known.load = known.load.max(spills.load);
            known.frame = known.frame.max(spills.frame);
        }
    }
    all
}

fn sizes(line: &str) -> Option<Spills> {
    let mut parts = line.split(", ");
    let mut size = |what: &str| -> Option<u64> {
        let part = parts.next()?.trim_end().strip_suffix(what)?;
        part.rsplit(' ').next()?.parse().ok()
    };
    Some(Spills {
        frame: size(" bytes stack frame")?,
        store: size(" bytes spill stores")?,
        load: size(" bytes spill loads")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NVRTC_12_9: &str = include_str!("../../../fixtures/gpu/code/nvrtc_12.9_sm_90.log");
    const NVRTC_13_5: &str = include_str!("../../../fixtures/gpu/code/nvrtc_13.5_sm_90.log");
    const NVCC_13_5: &str = include_str!("../../../fixtures/gpu/code/nvcc_13.5_sm_90.log");

    #[test]
    fn each_compiler_s_log_says_the_same_of_the_kernel_that_spills() {
        for log in [NVRTC_12_9, NVRTC_13_5, NVCC_13_5] {
            let all = spills(log);
            assert_eq!(all["spiller"], Spills { store: 24, load: 24, frame: 24 }, "{log}");
            assert_eq!(all["_Z5saxpyifPKfPf"], Spills::default());
        }
    }

    #[test]
    fn each_size_is_told_apart() {
        let log = "ptxas info    : Function properties for f\n\
                   ptxas         .     1128 bytes stack frame, 1792 bytes spill stores, 2160 bytes spill loads\n";
        assert_eq!(spills(log)["f"], Spills { store: 1792, load: 2160, frame: 1128 });
    }

    #[test]
    fn a_function_named_twice_has_the_largest_sizes() {
        let log = "ptxas info    : Function properties for f\n    8 bytes stack frame, 0 bytes spill stores, 4 bytes spill loads\n\
                   ptxas info    : Function properties for f\n    0 bytes stack frame, 12 bytes spill stores, 0 bytes spill loads\n";
        assert_eq!(spills(log)["f"], Spills { store: 12, load: 4, frame: 8 });
    }

    #[test]
    fn other_lines_say_nothing() {
        assert!(spills("ptxas info    : Used 10 registers\n8 bytes stack frame, x bytes spill stores, 0 bytes spill loads").is_empty());
        assert!(spills("").is_empty());
    }
}
