//! The commits of a range and their ancestry.

use std::collections::HashMap;

/// Commit 0 is the good end; the others are the candidates, each after its parents, and the last one is the bad end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lineage {
    /// By commit: a bit for each candidate among its ancestors, itself included.
    held: Vec<Vec<u64>>,
}

impl Lineage {
    /// A line of this many candidates after the good end.
    pub fn line(candidates: usize) -> Self {
        let parents: Vec<Vec<usize>> = (1..=candidates).map(|commit| vec![commit - 1]).collect();
        Self::of(&parents)
    }

    /// `parents`: of candidates 1, 2, ... by index, each less than the candidate's own; parents outside of the range are
    /// omitted.
    pub fn of(parents: &[Vec<usize>]) -> Self {
        let words = parents.len() / 64 + 1;
        let mut held = vec![vec![0_u64; words]];
        for (before, parents) in parents.iter().enumerate() {
            let commit = before + 1;
            let mut own = vec![0_u64; words];
            own[commit / 64] |= 1 << (commit % 64);
            for parent in parents.iter().filter(|parent| **parent < commit) {
                own.iter_mut().zip(&held[*parent]).for_each(|(own, theirs)| *own |= theirs);
            }
            held.push(own);
        }
        Self { held }
    }

    pub fn commits(&self) -> usize {
        self.held.len()
    }

    pub fn last(&self) -> usize {
        self.held.len() - 1
    }

    /// True if a commit contains a change that came with a candidate.
    pub fn holds(&self, commit: usize, candidate: usize) -> bool {
        self.held[commit][candidate / 64] >> (candidate % 64) & 1 == 1
    }

    /// By candidate: the first candidate contained in the same commits, among those that are not broken.
    pub(super) fn twins(&self, broken: &[bool]) -> Vec<usize> {
        let asked: Vec<usize> = (0..self.commits()).filter(|commit| !broken[*commit]).collect();
        let mut first: HashMap<Vec<u64>, usize> = HashMap::new();
        let twin = |candidate| *first.entry(self.pattern(&asked, candidate)).or_insert(candidate);
        (0..self.commits()).map(twin).collect()
    }

    /// A bit for each of these commits that contains the candidate. Nothing contains candidate 0.
    pub(super) fn pattern(&self, commits: &[usize], candidate: usize) -> Vec<u64> {
        let mut bits = vec![0_u64; commits.len() / 64 + 1];
        for (at, commit) in commits.iter().enumerate() {
            bits[at / 64] |= u64::from(self.holds(*commit, candidate)) << (at % 64);
        }
        bits
    }
}
