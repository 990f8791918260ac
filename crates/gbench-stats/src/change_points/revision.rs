//! The effect of further runs on the points that were found before.

use super::ChangePoint;

/// Indices into the two compared lists, each index once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChangeRevision {
    /// `(before, now)`: the same change, now known better.
    pub persisting: Vec<(usize, usize)>,
    /// Indices of points found only now.
    pub new: Vec<usize>,
    /// Indices of earlier points that further runs do not confirm.
    pub withdrawn: Vec<usize>,
}

/// Points are the same change if their ranges overlap and their directions agree; the nearest pairs first, each point once.
/// Both lists must be from one series with the same first run.
pub fn revise(before: &[ChangePoint], now: &[ChangePoint]) -> ChangeRevision {
    let mut pairs = Vec::new();
    for (was, old) in before.iter().enumerate() {
        let same =
            now.iter().enumerate().filter(|(_, new)| old.meets(new) && (old.size > 0.0) == (new.size > 0.0));
        pairs.extend(same.map(|(is, new)| (old.at.abs_diff(new.at), was, is)));
    }
    pairs.sort_unstable();
    let mut revision = ChangeRevision::default();
    let (mut kept, mut known) = (vec![false; before.len()], vec![false; now.len()]);
    for (_, was, is) in pairs {
        if !kept[was] && !known[is] {
            (kept[was], known[is]) = (true, true);
            revision.persisting.push((was, is));
        }
    }
    revision.persisting.sort_unstable();
    revision.withdrawn = (0..before.len()).filter(|was| !kept[*was]).collect();
    revision.new = (0..now.len()).filter(|is| !known[*is]).collect();
    revision
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(at: usize, reach: usize, size: f64) -> ChangePoint {
        ChangePoint { at, within: at - reach..=at + reach, size, low: size, high: size, p: 1e-6 }
    }

    #[test]
    fn a_point_that_moves_within_its_range_persists() {
        let revision = revise(&[point(40, 3, 0.05)], &[point(43, 1, 0.04), point(90, 1, 0.1)]);
        assert_eq!(revision, ChangeRevision { persisting: vec![(0, 0)], new: vec![1], withdrawn: vec![] });
    }

    #[test]
    fn a_point_that_is_gone_or_turned_round_is_withdrawn() {
        let revision = revise(&[point(40, 3, 0.05), point(70, 2, 0.05)], &[point(40, 3, -0.05)]);
        assert_eq!(revision, ChangeRevision { persisting: vec![], new: vec![0], withdrawn: vec![0, 1] });
    }

    #[test]
    fn of_two_points_in_reach_the_nearest_is_the_same_one() {
        let revision = revise(&[point(40, 9, 0.05), point(49, 9, 0.05)], &[point(47, 9, 0.05)]);
        assert_eq!(revision, ChangeRevision { persisting: vec![(1, 0)], new: vec![], withdrawn: vec![0] });
        assert_eq!(revise(&[], &[]), ChangeRevision::default());
    }
}
