use http::HeaderValue;

use super::*;

fn headers(name: header::HeaderName, values: &[&str]) -> HeaderMap {
    values
        .iter()
        .map(|value| (name.clone(), HeaderValue::from_str(value).unwrap()))
        .collect()
}

#[test]
fn accepts_media_ranges_leniently() {
    for (values, good) in [
        (&[][..], true),
        (&["application/json, text/event-stream"], true),
        (&["text/event-stream", "Application/JSON"], true),
        (&["*/*"], true),
        (&["application/*;q=0.5"], true),
        (&["text/event-stream"], false),
        (&["text/html"], false),
        (&["application/json;q=0"], false),
        (&["application/jsonx"], false),
        (&[""], false),
    ] {
        assert_eq!(
            check_accept(&headers(header::ACCEPT, values)).is_ok(),
            good,
            "{values:?}"
        );
    }
}

#[test]
fn accepts_only_json_bodies() {
    for (value, good) in [
        ("application/json", true),
        ("application/json; charset=utf-8", true),
        ("Application/Json", true),
        ("text/plain", false),
        ("application/json-seq", false),
        ("", false),
    ] {
        assert_eq!(
            check_content_type(&headers(header::CONTENT_TYPE, &[value])).is_ok(),
            good,
            "{value}"
        );
    }
    assert!(check_content_type(&HeaderMap::new()).is_err());
    for (coding, good) in [
        ("identity", true),
        ("Identity", true),
        ("gzip", false),
        ("identity, gzip", false),
    ] {
        let mut headers = headers(header::CONTENT_TYPE, &["application/json"]);
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(coding));
        assert_eq!(check_content_type(&headers).is_ok(), good, "{coding}");
    }
}
