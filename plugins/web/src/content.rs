//! Bodies of responses as contents.

use larder_provider::Content;
use larder_provider::http::Response;

/// Media types besides `text/…` whose contents are text.
const TEXT: [&str; 9] = [
    "application/json",
    "application/xml",
    "application/javascript",
    "application/yaml",
    "application/x-yaml",
    "application/toml",
    "application/sql",
    "application/x-ndjson",
    "application/graphql",
];

/// The media type of a response, without parameters and in lower case.
pub fn media_type(response: &Response) -> Option<String> {
    let value = response
        .header("content-type")?
        .split(';')
        .next()?
        .trim()
        .to_ascii_lowercase();
    let is_valid = |c: char| c.is_ascii_alphanumeric() || "!#$&-^_.+/".contains(c);
    (value.len() < 200 && value.split('/').count() == 2 && value.chars().all(is_valid))
        .then_some(value)
}

/// The body. It is a text if its media type is a type of texts and the body is UTF-8, otherwise bytes. `mime` replaces
/// the media type of the response.
pub fn content(response: Response, mime: Option<&str>) -> Content {
    let mime = mime.map(str::to_owned).or_else(|| media_type(&response));
    let mime = mime.unwrap_or_else(|| "application/octet-stream".to_owned());
    let content = match String::from_utf8(response.body) {
        Ok(text) if is_text(&mime) => Content::text(text),
        Ok(text) => Content::blob(text.into_bytes()),
        Err(error) => Content::blob(error.into_bytes()),
    };
    content.mime(mime)
}

fn is_text(mime: &str) -> bool {
    mime.starts_with("text/")
        || TEXT.contains(&mime)
        || mime.ends_with("+json")
        || mime.ends_with("+xml")
}

#[cfg(test)]
mod tests {
    use larder_provider::Body;

    use super::*;

    #[test]
    fn text_types_are_text_if_they_are_utf_8() {
        let check = |header: &str, body: &[u8], mime: &str, is_text: bool| {
            let headers = vec![("Content-Type".to_owned(), header.to_owned())];
            let found = content(
                Response {
                    status: 200,
                    headers,
                    body: body.to_vec(),
                },
                None,
            );
            assert_eq!(
                (
                    found.mime_type.as_deref(),
                    matches!(found.body, Body::Text(_))
                ),
                (Some(mime), is_text)
            );
        };
        check(
            "application/json; charset=utf-8",
            b"{}",
            "application/json",
            true,
        );
        check("Application/HAL+JSON", b"{}", "application/hal+json", true);
        check("text/plain", b"\xff", "text/plain", false);
        check("image/png", b"text", "image/png", false);
        check("nonsense\n", b"text", "application/octet-stream", false);
        check("", b"", "application/octet-stream", false);
    }
}
