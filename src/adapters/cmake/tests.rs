use super::super::detect::MemoryTree;
use super::*;

fn programs(files: &[(&str, &str)]) -> Vec<String> {
    targets(&MemoryTree::of(files)).into_iter().map(|target| target.found("").command[0].clone()).collect()
}

#[test]
fn variables_lists_and_patterns_are_followed() {
    let text = "project(App)\nset(NAMES one two) # a comment (with a bracket\nfile(GLOB SOURCES src/*.cc)\n\
                foreach(name IN LISTS NAMES ITEMS three)\nadd_executable(${PROJECT_NAME}_${name} ${SOURCES})\nendforeach()\n\
                foreach(file ${SOURCES})\nget_filename_component(stem ${file} NAME_WE)\nadd_executable(${stem} ${file})\nendforeach()\n\
                #[[ add_executable(never x.cc) ]]\nadd_executable(${UNKNOWN} x.cc)\n";
    let files = [("CMakeLists.txt", text), ("src/a.cc", ""), ("src/b.cc", ""), ("src/deep/c.cc", "")];
    let names = ["App_one", "App_two", "App_three", "a", "b"].map(|name| format!("./build/{name}"));
    assert_eq!(programs(&files), names);
    assert_eq!(targets(&MemoryTree::of(files))[0].sources, ["src/a.cc", "src/b.cc"]);
}

#[test]
fn a_program_lies_where_its_folder_or_the_output_directory_says() {
    let target = "add_executable(x ${CMAKE_CURRENT_SOURCE_DIR}/x.cc)";
    let files = [("lib/CMakeLists.txt", "project(l)"), ("lib/b/CMakeLists.txt", target), ("lib/b/x.cc", "")];
    assert_eq!(programs(&files), ["./lib/build/b/x"]);
    assert_eq!(targets(&MemoryTree::of(files))[0].sources, ["lib/b/x.cc"]);
    let set = "set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)\nadd_executable(x x.cc)";
    assert_eq!(programs(&[("CMakeLists.txt", set)]), ["./build/bin/x"]);
    let (above, below) = set.split_once('\n').unwrap();
    assert_eq!(programs(&[("A/CMakeLists.txt", below), ("CMakeLists.txt", above)]), ["./build/bin/x"]);
}

#[test]
fn text_that_is_no_cmake_gives_nothing() {
    for text in
        ["", "(", ")", "add_executable(", "foreach(", "foreach()", "\"", "#[[", "set()", "((((", "a(\"b"]
    {
        assert_eq!(programs(&[("CMakeLists.txt", text)]), [""; 0], "{text}");
    }
}

#[test]
fn words_are_quoted_for_the_shell() {
    assert_eq!(quoted("a/b-c.d"), "a/b-c.d");
    assert_eq!(quoted("a b'c"), r"'a b'\''c'");
    assert_eq!(quoted(""), "''");
}
