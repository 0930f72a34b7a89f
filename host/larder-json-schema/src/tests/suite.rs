//! The official test suite of JSON Schema (github.com/json-schema-org/JSON-Schema-Test-Suite, commit 44401e0c, MIT: see
//! suite.LICENSE): its required tests of five drafts, in one file. Groups that refer to other documents must not
//! compile.

use serde_json::Value;

use super::{compile, validate};
use crate::InvalidSchema;

const SUITE: &[u8] = include_bytes!("suite.json.zst");

/// Files with groups that this crate rejects, and the reason.
const EXCEPTIONS: [(&str, &str); 1] = [(
    "vocabulary",
    "a dialect of its own is described by another document, which is not read",
)];

/// How many tests pass.
const PASSED: usize = 4_774;
/// How many groups refer to other documents.
const OTHER_DOCUMENTS: usize = 75;

/// The results of the suite.
#[derive(Default)]
struct Outcome {
    passed: usize,
    failures: Vec<String>,
    /// Groups that refer to other documents, such as the schema of schemas.
    other_documents: Vec<String>,
}

#[test]
fn passes_the_official_suite() {
    let decoder = ruzstd::decoding::StreamingDecoder::new(SUITE).unwrap();
    let suite: Value = serde_json::from_reader(decoder).unwrap();
    let mut outcome = Outcome::default();
    for (draft, files) in suite.as_object().unwrap() {
        for (file, groups) in files.as_object().unwrap() {
            for group in groups.as_array().unwrap() {
                run(draft, file, group, &mut outcome);
            }
        }
    }
    assert!(outcome.failures.is_empty(), "{:#?}", outcome.failures);
    assert_eq!(outcome.passed, PASSED);
    assert_eq!(
        outcome.other_documents.len(),
        OTHER_DOCUMENTS,
        "{:#?}",
        outcome.other_documents
    );
}

fn run(draft: &str, file: &str, group: &Value, outcome: &mut Outcome) {
    let name = format!("{draft}/{file}: {}", group["description"].as_str().unwrap());
    let schema = match compile(&with_draft(&group["schema"], draft)) {
        Ok(schema) => schema,
        Err(InvalidSchema::OtherDocument(_)) => return outcome.other_documents.push(name),
        Err(InvalidSchema::UnknownDraft(_))
            if EXCEPTIONS.iter().any(|(known, _)| *known == file) =>
        {
            return;
        }
        Err(error) => return outcome.failures.push(format!("{name}: {error}")),
    };
    for test in group["tests"].as_array().unwrap() {
        let is_valid = validate(&schema, &test["data"]).is_ok();
        if is_valid == test["valid"] {
            outcome.passed += 1;
        } else {
            outcome
                .failures
                .push(format!("{name}: {}: {is_valid}", test["description"]));
        }
    }
}

/// The tests of earlier drafts do not name their draft.
fn with_draft(schema: &Value, draft: &str) -> Value {
    let mut schema = schema.clone();
    let name = match draft {
        "draft4" => "http://json-schema.org/draft-04/schema#",
        "draft6" => "http://json-schema.org/draft-06/schema#",
        "draft7" => "http://json-schema.org/draft-07/schema#",
        "draft2019-09" => "https://json-schema.org/draft/2019-09/schema",
        _ => "https://json-schema.org/draft/2020-12/schema",
    };
    if let Some(members) = schema.as_object_mut() {
        members.entry("$schema").or_insert(name.into());
    }
    schema
}
