use super::*;

#[test]
fn executions_are_not_counted() {
    assert!(!crate::adapters::Harness(&GoTest).counts());
}
