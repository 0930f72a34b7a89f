//! The fuzz target for the conversion of the results of guests. It exists only in tests and with the feature `fuzzing`.

mod values;

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use self::values::{Input, SECRET};
use super::*;
use larder_model::format::{is_date_time, is_icon_source, is_media_type, is_metadata_key};
use larder_model::input::Answer;
use larder_model::message::Block;
use larder_model::policy::{Grant, Secret};
use larder_model::prompt::{Prompt, PromptResult};
use larder_model::resource::{Details, Entry, Icon, Metadata, ReadResult, Template};
use larder_model::search::SearchQuery;
use larder_model::tool::{Tool, ToolResult};
use larder_model::uri::Uri;

/// Maximum number of items on a page.
const MAX_PAGE: u32 = 8;
/// Maximum bytes of all notes about omissions. The notes are lines of the log.
const MAX_NOTES: usize = 64 << 10;

/// Converts a result of each kind of call. The first byte chooses the kind, and the other bytes are the result. For
/// every result of a guest, clients get only valid values, and errors and notes contain no secret.
pub fn wit_conversion(data: &[u8]) {
    let [kind, rest @ ..] = data else { return };
    let mut grant = Grant {
        secrets: [("key".to_owned(), Secret::new(SECRET))]
            .into_iter()
            .collect(),
        ..Grant::default()
    };
    grant.limits.page_entries = MAX_PAGE;
    let mut input = Input::new(rest);
    let mut omissions = Omissions::new(&grant);
    match kind % 10 {
        0 => {
            let page = wait(entry_page(input.value(), &grant));
            check_page(page, check_entry);
        }
        1 => {
            let page = wait(template_page(input.value(), &grant));
            check_page(page, check_template);
        }
        2 => {
            let page = wait(tool_page(input.value(), &grant));
            check_page(page, check_tool);
        }
        3 => {
            let page = wait(prompt_page(input.value(), &grant));
            check_page(page, check_prompt);
        }
        4 => check_reading(&mut input, &mut omissions),
        5 => {
            let answer = wait(tool_result(input.value(), &mut omissions));
            check_result(answer, check_tool_answer);
        }
        6 => {
            let answer = wait(prompt_result(input.value(), &mut omissions));
            check_result(answer, check_prompt_answer);
        }
        7 => check_hits(&mut input, &mut omissions),
        8 => check_description(&mut input, &mut omissions),
        _ => check_small_results(&mut input, &mut omissions),
    }
    check_notes(&omissions.summary());
}

fn check_tool(tool: &Tool) {
    check_json_object(tool.input_schema.get());
    if let Some(schema) = &tool.output_schema {
        check_json_object(schema.get());
    }
    check_extras(&tool.icons, &tool.metadata);
}

fn check_prompt(prompt: &Prompt) {
    assert!(!prompt.name.is_empty() && !prompt.name.contains(char::is_control));
    check_extras(&prompt.icons, &prompt.metadata);
}

fn check_tool_answer(answer: &Answer<ToolResult>) {
    let Answer::Complete(result) = answer else {
        return;
    };
    result.content.iter().for_each(check_block);
    if let Some(json) = &result.structured {
        check_json(json.get());
    }
    check_metadata(&result.metadata);
}

fn check_prompt_answer(answer: &Answer<PromptResult>) {
    if let Answer::Complete(result) = answer {
        for message in &result.messages {
            check_block(&message.content);
        }
    }
}

fn check_description(input: &mut Input<'_>, omissions: &mut Omissions<'_>) {
    let item = description(input.value(), omissions);
    assert!(item.claims.iter().all(|claim| claim.contains(':')));
    check_result(declarations(input.value(), omissions), |_| ());
}

fn check_small_results(input: &mut Input<'_>, omissions: &mut Omissions<'_>) {
    let completion = completion(input.value(), input.value(), input.value(), omissions);
    assert!(completion.values.len() <= MAX_COMPLETIONS);
    check_result(wait(versions(input.value(), 2, omissions)), |_| ());
    check_result(template_match(input.value()), |_| ());
}

/// Runs a conversion to its end. A conversion never waits; it only yields.
fn wait<F: Future>(conversion: F) -> F::Output {
    let mut conversion = pin!(conversion);
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..10_000 {
        if let Poll::Ready(output) = conversion.as_mut().poll(&mut context) {
            return output;
        }
    }
    panic!("the conversion does not end");
}

fn check_result<T>(result: Result<T, CallError>, check: impl FnOnce(&T)) {
    match result {
        Ok(value) => check(&value),
        Err(error) => check_notes(&[error.to_string()]),
    }
}

fn check_page<T>(page: Result<ListPage<T>, CallError>, check: impl Fn(&T)) {
    check_result(page, |page| {
        assert!(page.items.len() <= MAX_PAGE as usize);
        assert!(
            page.next
                .as_ref()
                .is_none_or(|next| next.len() <= MAX_CURSOR_BYTES)
        );
        page.items.iter().for_each(check);
        check_notes(&page.omitted);
    });
}

fn check_reading(input: &mut Input<'_>, omissions: &mut Omissions<'_>) {
    let requested = Uri::parse("x://host/a").expect("a URI");
    let may_return = |uri: &Uri| uri.as_str().starts_with("x://host/");
    let result = wait(read_result(
        input.value(),
        &requested,
        may_return,
        omissions,
    ));
    check_result(result, |result: &ReadResult| {
        assert!(!result.contents.is_empty());
        for content in result.contents.iter() {
            assert!(
                content.uri == requested || may_return(&content.uri) && content.uri.is_portable()
            );
            assert!(content.mime_type.as_deref().is_none_or(is_media_type));
            check_metadata(&content.metadata);
        }
    });
}

fn check_hits(input: &mut Input<'_>, omissions: &mut Omissions<'_>) {
    let query = SearchQuery {
        limit: 3,
        uri_prefix: input.value(),
        kind: input.value(),
        ..SearchQuery::default()
    };
    let hits = wait(hits(input.value(), &query, omissions));
    assert!(hits.hits.len() <= 3);
    for hit in &hits.hits {
        check_entry(&hit.entry);
        assert!(
            query.uri_prefix.as_ref().is_none_or(|prefix| hit
                .entry
                .uri
                .as_str()
                .starts_with(prefix))
        );
    }
}

fn check_entry(entry: &Entry) {
    assert!(
        entry.uri.is_portable() && !entry.uri.has_fragment(),
        "{:?}",
        entry.uri
    );
    assert!(
        entry.mime_type.as_deref().is_none_or(is_media_type),
        "{:?}",
        entry.mime_type
    );
    assert!(entry.size.is_none_or(|size| size <= MAX_TOTAL));
    check_details(&entry.details);
}

fn check_template(template: &Template) {
    assert!(
        template.mime_type.as_deref().is_none_or(is_media_type),
        "{:?}",
        template.mime_type
    );
    check_details(&template.details);
}

fn check_details(details: &Details) {
    assert!(
        details
            .priority
            .is_none_or(|priority| (0.0..=1.0).contains(&priority))
    );
    assert!(
        details.last_modified.as_deref().is_none_or(is_date_time),
        "{:?}",
        details.last_modified
    );
    assert!(details.audience.len() <= 2);
    check_extras(&details.icons, &details.metadata);
}

fn check_block(block: &Block) {
    check_metadata(&block.metadata);
}

fn check_extras(icons: &[Icon], metadata: &Metadata) {
    assert!(
        icons.iter().all(|icon| is_icon_source(&icon.src)),
        "{icons:?}"
    );
    check_metadata(metadata);
}

fn check_metadata(metadata: &Metadata) {
    for (key, value) in metadata {
        assert!(is_metadata_key(key), "{key:?}");
        check_json(value.get());
    }
}

fn check_json(text: &str) {
    assert!(
        !text.contains('\n') && serde_json::from_str::<serde_json::Value>(text).is_ok(),
        "{text:?}"
    );
}

fn check_json_object(text: &str) {
    check_json(text);
    assert!(text.starts_with('{'), "{text:?}");
}

/// Notes and errors are bounded, and contain no secret.
fn check_notes(notes: &[String]) {
    assert!(notes.iter().map(String::len).sum::<usize>() <= MAX_NOTES);
    assert!(notes.iter().all(|note| !note.contains(SECRET)), "{notes:?}");
}

#[cfg(test)]
#[path = "../../../../../fuzz/replay.rs"]
mod replay;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replays_the_corpus_of_wit_conversion() {
        replay::replay("wit_conversion", wit_conversion);
    }
}
