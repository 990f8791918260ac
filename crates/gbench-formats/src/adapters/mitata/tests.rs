use super::*;

#[test]
fn the_script_alone_says_what_runs() {
    assert!(!Mitata.about().filters);
}
