use super::*;

#[test]
fn names_of_the_xml_and_of_the_json_lead_to_each_other() {
    for (node, classname, name, file) in [
        ("a/b/test_x.py::C::D::t[x::y/z]", "a.b.test_x.C.D", "t[x::y/z]", "a/b/test_x.py"),
        ("test_x.py::t[a.py]", "test_x", "t[a.py]", "test_x.py"),
        // Inherited from a class of another file.
        ("b/test_y.py::TestY::t", "b.test_y.TestY", "t", "b/base.py"),
    ] {
        assert_eq!(junit_key(node), (classname.to_owned(), name.to_owned()));
        let case = TestCase {
            classname: classname.into(),
            name: name.into(),
            file: Some(file.into()),
            ends: vec![],
        };
        assert_eq!(node_id(&case), node);
    }
}
