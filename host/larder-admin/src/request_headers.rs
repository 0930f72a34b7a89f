//! Headers of requests that can have several values.

use http::header::{HeaderMap, HeaderName};

/// Returns all values of a header that are text.
pub(super) fn header_texts<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> impl Iterator<Item = &'a str> + use<'a> {
    let values = headers.get_all(name).iter();
    values.filter_map(|value| value.to_str().ok())
}
