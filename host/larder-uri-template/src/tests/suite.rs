//! The test cases of <https://github.com/uri-templates/uritemplate-test>, reversed. They are not part of this
//! repository. To run them:
//!
//! ```sh
//! URITEMPLATE_TEST=path/to/uritemplate-test cargo nextest run -p larder-uri-template --run-ignored only
//! ```

use std::path::PathBuf;

use serde_json::Value;

use super::{UriTemplate, Variable};

const FILES: [&str; 3] = [
    "spec-examples.json",
    "spec-examples-by-section.json",
    "extended-tests.json",
];

/// The templates whose expansions are different after matching, all from "Additional Examples 6". With `+` and `#`, the
/// values `%2F` and `/` are not encoded. Values are passed on decoded, so `%2F` becomes `/`.
const AMBIGUOUS: [&str; 6] = ["{+id}", "{#id}", "{+list}", "{#list}", "{+keys}", "{#keys}"];

#[test]
#[ignore = "needs a copy of uritemplate-test"]
#[expect(
    clippy::disallowed_methods,
    reason = "the files are outside of this repository"
)]
fn expansions_match_and_expand_to_the_same_uri() {
    let folder = PathBuf::from(std::env::var("URITEMPLATE_TEST").expect("URITEMPLATE_TEST"));
    let mut count = 0;
    let mut others = vec![];
    for file in FILES {
        let json = std::fs::read(folder.join(file)).unwrap();
        let groups: Value = serde_json::from_slice(&json).unwrap();
        for group in groups.as_object().unwrap().values() {
            let orders = orders(&group["variables"]);
            for case in group["testcases"].as_array().unwrap() {
                let template = case[0].as_str().unwrap();
                // The grammar of RFC 6570 does not allow `'`.
                let Ok(parsed) = UriTemplate::parse(&format!("x:{template}")) else {
                    assert!(template.contains('\''), "{template}");
                    continue;
                };
                for uri in expansions(&case[1]) {
                    count += 1;
                    assert!(
                        orders.iter().any(|values| parsed.expand(values) == uri),
                        "{template}: {uri}"
                    );
                    let matched = parsed
                        .matches(&uri)
                        .unwrap_or_else(|| panic!("{template}: {uri}"));
                    if parsed.expand(&matched.variables) != uri {
                        others.push(template.to_owned());
                    }
                }
            }
        }
    }
    assert_eq!(others, AMBIGUOUS);
    assert!(count >= 387, "{count} expansions");
}

fn expansions(expected: &Value) -> Vec<String> {
    let texts = expected
        .as_array()
        .map_or(std::slice::from_ref(expected), Vec::as_slice);
    texts
        .iter()
        .map(|text| format!("x:{}", text.as_str().unwrap()))
        .collect()
}

/// Returns the variables, in each order of each map.
fn orders(variables: &Value) -> Vec<Vec<Variable>> {
    let mut orders = vec![vec![]];
    for (name, value) in variables.as_object().unwrap() {
        let values = match value {
            Value::Null => vec![vec![]],
            Value::Array(items) => vec![
                items
                    .iter()
                    .map(|item| Variable::new(name, text(item)))
                    .collect(),
            ],
            Value::Object(pairs) => permutations(
                pairs
                    .iter()
                    .map(|(key, value)| Variable {
                        key: Some(key.clone()),
                        ..Variable::new(name, text(value))
                    })
                    .collect(),
            ),
            _ => vec![vec![Variable::new(name, text(value))]],
        };
        orders = orders
            .iter()
            .flat_map(|order| {
                values
                    .iter()
                    .map(move |values| [&order[..], values].concat())
            })
            .collect();
    }
    orders
}

fn text(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), ToOwned::to_owned)
}

fn permutations(variables: Vec<Variable>) -> Vec<Vec<Variable>> {
    if variables.len() < 2 {
        return vec![variables];
    }
    let with_first = |first: usize| {
        let mut others = variables.clone();
        let first = others.remove(first);
        permutations(others)
            .into_iter()
            .map(move |others| [vec![first.clone()], others].concat())
    };
    (0..variables.len()).flat_map(with_first).collect()
}
