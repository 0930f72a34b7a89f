//! Calls the provider natively. Without a granted folder, it reads the sample.

use larder_provider::{
    Answer, ArgumentQuery, Block, BlockValue, Call, Error, Input, NoArguments, PromptRequest,
    Provider, SearchQuery, ToolResult,
};
use serde_json::{Value, json};

use crate::Changelog;
use crate::changelog::releases;
use crate::comparison::{Change, Versions};

fn text(content: &[Block]) -> &str {
    match content {
        [
            Block {
                value: BlockValue::Text(text),
                ..
            },
        ] => text,
        other => panic!("not a single text: {other:?}"),
    }
}

fn compare(from: &str, to: &str) -> ToolResult<crate::comparison::Comparison> {
    let versions = Versions {
        from: from.to_owned(),
        to: to.to_owned(),
    };
    Changelog.compare(&Call::new(versions)).unwrap()
}

#[test]
fn compares_releases() {
    let check = |from, to, expected: &[&str]| {
        let result = compare(from, to);
        let changes = result.structured.unwrap().changes;
        let line = |Change {
                        version,
                        kind,
                        item,
                    }| format!("{version} {kind}: {item}");
        assert_eq!(
            changes.into_iter().map(line).collect::<Vec<_>>(),
            expected,
            "{from} {to}"
        );
        let joined = if expected.is_empty() {
            "Nothing changed.".to_owned()
        } else {
            expected.join("\n")
        };
        assert_eq!(
            (text(&result.content), result.is_error),
            (joined.as_str(), false)
        );
    };
    let completion = "0.2.0 Added: Completion of versions.";
    let json = "0.2.0 Added: Each release as JSON, for programs.";
    let date = "0.2.0 Fixed: A release without a date is no longer left out.";
    check("0.1.0", "0.2.0", &[completion, json, date]);
    check(
        "0.1.0",
        "Unreleased",
        &[
            "Unreleased Added: A provider in each language.",
            completion,
            json,
            date,
        ],
    );
    check("0.2.0", "0.2.0", &[]);
    check("0.2.0", "0.1.0", &[]);
}

#[test]
fn names_the_known_releases() {
    for (from, to) in [("9", "0.2.0"), ("0.2.0", "9"), ("9", "8")] {
        let result = compare(from, to);
        let expected = "There is no release `9`. Known releases: Unreleased, 0.2.0, 0.1.0.";
        assert_eq!((text(&result.content), result.is_error), (expected, true));
        assert_eq!(result.structured, None);
    }
}

#[test]
fn asks_for_the_version_of_a_draft() {
    let Answer::Input(asked) = Changelog.draft(&Call::new(NoArguments {})).unwrap() else {
        panic!()
    };
    let [request] = asked.requests.as_slice() else {
        panic!("{asked:?}")
    };
    assert_eq!(
        (request.key.as_str(), request.method.as_str()),
        ("version", "elicitation/create")
    );
    let version = json!({ "type": "string", "description": "Such as 1.2.0" });
    let schema =
        json!({ "type": "object", "properties": { "version": version }, "required": ["version"] });
    let params = json!({ "mode": "form", "message": "Which version is released?", "requestedSchema": schema });
    assert_eq!(
        serde_json::from_str::<Value>(&request.params).unwrap(),
        params
    );
    assert_eq!(asked.state, Some(digest().into_bytes()));
}

/// The digest of the unreleased changes of the sample.
fn digest() -> String {
    releases(crate::SAMPLE)[0].digest()
}

#[test]
fn drafts_a_release_with_the_version_of_the_user() {
    let check = |input: Input, expected: &str, is_error: bool| {
        let answer = Changelog
            .draft(&Call::new(NoArguments {}).input(input))
            .unwrap();
        let Answer::Complete(result) = answer else {
            panic!("{answer:?}")
        };
        assert_eq!(
            (text(&result.content), result.is_error),
            (expected, is_error)
        );
    };
    let accept = || Input::accept("version", json!({ "version": "1.0.0" }));
    let drafted = "## [1.0.0]\n\n### Added\n\n- A provider in each language.\n";
    check(accept().state(digest()), drafted, false);
    check(
        accept().state("00000000"),
        "The changelog has changed: draft again.",
        true,
    );
    check(accept(), "The changelog has changed: draft again.", true);
    let nothing = "No release was drafted.";
    check(Input::decline("version").state(digest()), nothing, false);
    check(
        Input::response("version", Err(json!({ "code": -32603 }))).state(digest()),
        nothing,
        false,
    );
}

#[test]
fn announces_a_release() {
    let check = |arguments: &[(&str, &str)], addition: &str| {
        let result = Changelog
            .announce(&PromptRequest::new("announce_release", arguments))
            .unwrap();
        assert_eq!(
            result.description.as_deref(),
            Some("Announcement of release 0.2.0")
        );
        let expected = format!(
            "Write an announcement of release 0.2.0 for its users{addition}. Name the most important change first."
        );
        assert_eq!(
            text(std::slice::from_ref(&result.messages[0].content)),
            expected
        );
        let BlockValue::Embedded(resource) = &result.messages[1].content.value else {
            panic!("{result:?}")
        };
        assert_eq!(resource.uri, "changelog://releases/0.2.0");
        assert_eq!(resource.mime_type.as_deref(), Some("text/markdown"));
    };
    check(&[("version", "0.2.0")], "");
    check(
        &[("version", "0.2.0"), ("tone", "friendly")],
        ", in a friendly tone",
    );
    check(&[("version", "0.2.0"), ("tone", "")], "");
    let error =
        |arguments: &[_]| Changelog.announce(&PromptRequest::new("announce_release", arguments));
    assert_eq!(
        error(&[("version", "9")]),
        Err(Error::invalid("there is no release `9`"))
    );
    assert_eq!(error(&[]), Err(Error::invalid("`version` is missing")));
}

#[test]
fn completes_the_version_in_the_order_of_the_file() {
    let (prompt, argument) = ("announce_release".to_owned(), "version".to_owned());
    let query = ArgumentQuery {
        prompt,
        argument,
        prefix: "0.".to_owned(),
        filled: vec![],
    };
    assert_eq!(
        Changelog.complete_version(&query).unwrap().values,
        ["0.2.0", "0.1.0"]
    );
}

#[test]
fn searches_in_the_order_of_the_file() {
    let check = |text: &str, limit, expected: &[(&str, &str)]| {
        let hits = Changelog
            .search(&SearchQuery::new(text, limit))
            .unwrap()
            .hits;
        let found = hits
            .iter()
            .map(|hit| (hit.entry.name.as_str(), hit.excerpt.as_deref().unwrap()));
        assert_eq!(found.collect::<Vec<_>>(), expected, "{text}");
    };
    let (unreleased, second) = (
        ("Unreleased", "- A provider in each language."),
        ("0.2.0", "for programs."),
    );
    check("A PROVIDER", 10, &[unreleased]);
    check("  for programs", 10, &[second]);
    check(
        "RELEASE",
        10,
        &[
            ("Unreleased", "## [Unreleased]"),
            ("0.2.0", "- Each release as JSON,"),
            ("0.1.0", "- The releases of a changelog, as resources."),
        ],
    );
    check("release", 1, &[("Unreleased", "## [Unreleased]")]);
    check("nowhere", 10, &[]);
}
