use super::*;

#[test]
fn words_are_quoted_for_the_shell() {
    assert_eq!(quoted("a/b-c.d"), "a/b-c.d");
    assert_eq!(quoted("a b'c"), r"'a b'\''c'");
    assert_eq!(quoted(""), "''");
}
