//! Reads register spills from the assembler's log (`-v`), because the machine code does not contain them.
//!
//! With `--ptxas-options=-v`, NVRTC's program log has the same lines. They are alike in 12.9 and 13.5; the sizes follow
//! four blanks, or `ptxas         .     ` in NVRTC's log:
//!
//! ```text
//! ptxas info    : Function properties for _Z7spillerPKfPf
//!     1128 bytes stack frame, 1792 bytes spill stores, 2160 bytes spill loads
//! ```

use std::collections::BTreeMap;

const FUNCTION: &str = "Function properties for ";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spills {
    pub store: u64,
    pub load: u64,
    /// The function's own frame, without those of its callees.
    pub frame: u64,
}

/// By the function's name as in the code. If the log names a function several times, because several kernels call it or it was
/// compiled for several architectures, the result has the largest of each size. Other lines are skipped.
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
