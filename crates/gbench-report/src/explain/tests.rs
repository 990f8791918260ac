use super::plot::*;
use super::sentences::e_value;

#[test]
fn a_share_stays_on_its_axis() {
    assert_eq!((share(0.0, -1.0, 1.0), share(9.0, -1.0, 1.0), share(-9.0, -1.0, 1.0)), (0.5, 1.0, 0.0));
    assert_eq!(share(1.0, 2.0, 2.0), 0.5);
}

#[test]
fn evidence_that_sank_without_end_does_not_flatten_the_picture() {
    let (low, high) = evidence_span([-40.0, 0.5, 1.0].into_iter(), 2.5);
    assert_eq!((low, high), (MIN_EVIDENCE - 0.2, 2.8));
}

#[test]
fn an_e_value_reads_well_at_any_size() {
    let shown = [-9.0, -0.5, 0.0, 2.477, 12.34].map(e_value);
    assert_eq!(shown, ["below 0.01", "0.32", "1.00", "300", "10^12.3"]);
}
