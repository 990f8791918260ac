//! Known names that a reader may have meant by an unknown one.

/// Longer words are not compared.
const LONGEST: usize = 200;

/// The known names nearest to `word`, nearest first, at most three.
pub fn near<'a>(word: &str, known: &[&'a str]) -> Vec<&'a str> {
    // The distance costs the product of the lengths, and no known name is so long.
    if word.len() > LONGEST {
        return Vec::new();
    }
    let wanted = word.to_lowercase();
    let tail = |name: &str| name.rsplit('/').next().unwrap_or("").to_owned();
    let mut ranked: Vec<(usize, &str)> = known
        .iter()
        .filter_map(|name| {
            let candidate = name.to_lowercase();
            let whole = strsim::damerau_levenshtein(&wanted, &candidate);
            // `gem` is near `kernels/gemm`, although most of the letters differ.
            let last = strsim::damerau_levenshtein(&tail(&wanted), &tail(&candidate));
            let distance = whole.min(last);
            let contains = wanted.len() >= 3 && (candidate.contains(&wanted) || wanted.contains(&candidate));
            let limit = (tail(&candidate).len() / 3).max(1);
            (distance <= limit || contains).then_some((distance, *name))
        })
        .collect();
    ranked.sort();
    ranked.dedup();
    ranked.into_iter().take(3).map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_near_name_is_found_and_a_far_one_is_not() {
        let known = ["iterations", "processes", "warmup"];
        assert_eq!(near("iteration", &known), ["iterations"]);
        assert_eq!(near("proceses", &known), ["processes"]);
        assert_eq!(near("zebra", &known), [""; 0]);
        assert_eq!(near(&"iterations".repeat(1000), &known), [""; 0]);
        assert_eq!(near("gem", &["kernels/gemm", "kernels/softmax"]), ["kernels/gemm"]);
    }
}
