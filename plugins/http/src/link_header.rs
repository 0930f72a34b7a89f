//! The header `Link` (RFC 8288).

/// The target with the relation `next`.
pub(crate) fn next(header: &str) -> Option<&str> {
    let mut rest = header;
    while let Some((_, after)) = rest.split_once('<') {
        let (target, after) = after.split_once('>')?;
        let end = end_of_parameters(after);
        let mut parameters = after[..end]
            .split(';')
            .filter_map(|parameter| parameter.split_once('='));
        let is_next = parameters.any(|(name, value)| {
            let mut relations = value.trim().trim_matches('"').split_ascii_whitespace();
            name.trim().eq_ignore_ascii_case("rel")
                && relations.any(|one| one.eq_ignore_ascii_case("next"))
        });
        if is_next {
            return Some(target);
        }
        rest = &after[end..];
    }
    None
}

/// The position of the comma before the next link. A comma in quotes is a part of a value.
fn end_of_parameters(text: &str) -> usize {
    let mut is_quoted = false;
    let end = text.char_indices().find(|(_, c)| {
        is_quoted ^= *c == '"';
        *c == ',' && !is_quoted
    });
    end.map_or(text.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::next;

    #[test]
    fn finds_the_next_page() {
        let check =
            |header: &str, expected: Option<&str>| assert_eq!(next(header), expected, "{header}");
        check(
            "<https://a.example/x?page=2>; rel=\"next\", <https://a.example/x?page=9>; rel=last",
            Some("https://a.example/x?page=2"),
        );
        check(
            "</x?page=1>;rel=prev,</x?page=3>; title=\"a, <b>; rel=next\"; REL=Next",
            Some("/x?page=3"),
        );
        check("<x>; rel=\"last next\"", Some("x"));
        check("<x>; rel=previous", None);
        check("<x", None);
        check("", None);
    }
}
