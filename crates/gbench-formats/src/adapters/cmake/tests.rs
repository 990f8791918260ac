use super::super::detect::MemoryTree;
use super::*;

fn programs(files: &[(&str, &str)]) -> Vec<String> {
    let found = |target: CMakeTarget| match target.found("") {
        Ok(found) => found.command[0].clone(),
        Err(why_not) => why_not,
    };
    targets(&MemoryTree::of(files)).into_iter().map(found).collect()
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
fn properties_of_a_target_say_where_its_program_lies_and_what_it_is_called() {
    let of = |more: &str| {
        let text = format!("project(p)\nadd_executable(x x.cc)\n{more}");
        let files = [("CMakeLists.txt", "project(all)"), ("lib/CMakeLists.txt", &text), ("lib/x.cc", "")];
        programs(&files).remove(0)
    };
    assert_eq!(of(""), "./build/lib/x");
    for (value, expected) in [
        ("${CMAKE_BINARY_DIR}/bin", "./build/bin/y"),
        ("\"${PROJECT_BINARY_DIR}\"", "./build/lib/y"),
        ("${CMAKE_CURRENT_BINARY_DIR}/bin", "./build/lib/bin/y"),
        ("bin", "./build/lib/bin/y"),
        ("${CMAKE_SOURCE_DIR}/out", "./out/y"),
        ("${PROJECT_SOURCE_DIR}/out", "./lib/out/y"),
    ] {
        let both = format!("PROPERTIES RUNTIME_OUTPUT_DIRECTORY {value} FOLDER f OUTPUT_NAME y)");
        assert_eq!(of(&format!("set_target_properties(x {both}")), expected, "{value}");
        let one = format!("set_property(TARGET a x PROPERTY RUNTIME_OUTPUT_DIRECTORY {value})");
        assert_eq!(of(&one), expected.replace("/y", "/x"), "{value}");
    }
    assert_eq!(of("set_target_properties(other PROPERTIES OUTPUT_NAME y)"), "./build/lib/x");
}

#[test]
fn a_place_that_is_not_understood_is_said_and_not_guessed() {
    for value in [
        "${OUT}/bin",
        "$<TARGET_PROPERTY:a>",
        "/opt/bin",
        "${CMAKE_BINARY_DIR}/../bin",
        "${CMAKE_BINARY_DIR}/$<CONFIG>",
    ] {
        for text in [
            format!(
                "add_executable(x x.cc)\nset_target_properties(x PROPERTIES RUNTIME_OUTPUT_DIRECTORY {value})"
            ),
            format!("set(CMAKE_RUNTIME_OUTPUT_DIRECTORY {value} CACHE PATH \"\")\nadd_executable(x x.cc)"),
        ] {
            let said = programs(&[("CMakeLists.txt", &text), ("x.cc", "")]).remove(0);
            assert!(
                said.contains(&format!("where its program lies is not understood (`{value}`)")),
                "{said}"
            );
        }
    }
}

#[test]
fn a_target_that_no_build_has_is_not_there() {
    let text = "if(FALSE)\nif(A)\nadd_executable(a x.cc)\nendif()\nadd_executable(b x.cc)\nelse()\nadd_executable(c x.cc)\nendif()\n\
                if(0)\nforeach(n d e)\nadd_executable(${n} x.cc)\nendforeach()\nendif()\nif(OPTION)\nadd_executable(f x.cc)\nendif()\n\
                foreach(n g)\nif(off)\nadd_executable(h x.cc)\nendif()\nendforeach()\nif(NO)\nadd_executable(i x.cc)";
    assert_eq!(programs(&[("CMakeLists.txt", text), ("x.cc", "")]), ["./build/c", "./build/f"]);
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
