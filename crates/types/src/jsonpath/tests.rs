use super::*;
use crate::json::Json;

fn canonical(text: &str) -> String {
    match Path::parse(text) {
        Ok(path) => path.to_string(),
        Err(error) => error.message().to_string(),
    }
}

fn results(document: &str, path: &str) -> String {
    let document = Json::parse(document).unwrap();
    let path = Path::parse(path).unwrap();
    let asked = Query {
        path: &path,
        document: &document,
        variables: None,
        silent: false,
    };
    match query(&asked) {
        Ok(found) => {
            let mut out = Vec::new();
            Json::Array(found.into()).write(&mut out);
            String::from_utf8(out).unwrap()
        }
        Err(error) => error.message().to_string(),
    }
}

#[test]
fn canonical_texts() {
    assert_eq!(canonical("$.a[*].b"), "$.\"a\"[*].\"b\"");
    assert_eq!(
        canonical("strict $ ? (@.x > -1 && !(@.y==2))"),
        "strict $?(@.\"x\" > -1 && !(@.\"y\" == 2))"
    );
    assert_eq!(canonical("1 + 2 * 3"), "(1 + 2 * 3)");
    assert_eq!(canonical("(1 + 2) * 3"), "((1 + 2) * 3)");
    assert_eq!(canonical("$.**{2 to last}.a"), "$.**{2 to last}.\"a\"");
    assert_eq!(
        canonical("1.type()"),
        "trailing junk after numeric literal at or near \"1.t\" of jsonpath input"
    );
    assert_eq!(canonical("(1).type()"), "(1).type()");
    assert_eq!(canonical("@"), "@ is not allowed in root expressions");
    assert_eq!(canonical("last"), "LAST is allowed only in array subscripts");
    assert_eq!(canonical("$ ?"), "syntax error at end of jsonpath input");
    assert_eq!(canonical("\"\\u0061\\x62\""), "\"ab\"");
}

#[test]
fn nesting_is_bounded() {
    let deep = format!("{}1{}", "(".repeat(5000), ")".repeat(5000));
    assert_eq!(canonical(&deep), "stack depth limit exceeded");
    let long = format!("${}", ".a".repeat(5000));
    assert_eq!(canonical(&long), "stack depth limit exceeded");
    let signs = format!("{}$", "-".repeat(5000));
    assert_eq!(canonical(&signs), "stack depth limit exceeded");
}

#[test]
fn lax_unwraps_and_strict_refuses() {
    assert_eq!(results("[{\"a\":1},{\"a\":2}]", "$.a"), "[1, 2]");
    assert_eq!(
        results("[{\"a\":1}]", "strict $.a"),
        "jsonpath member accessor can only be applied to an object"
    );
    assert_eq!(results("{\"a\":[1,2,3]}", "$.a[last, 0 to 1]"), "[3, 1, 2]");
    assert_eq!(
        results("{\"a\":{\"b\":1}}", "$.**"),
        "[{\"a\": {\"b\": 1}}, {\"b\": 1}, 1]"
    );
    assert_eq!(results("[1,\"a\",null]", "$[*] ? (@ > 0)"), "[1]");
    assert_eq!(results("{\"a\":1,\"b\":[1,2]}", "$.keyvalue().id"), "[0, 0]");
}
