//! The fuzz target for tokens. It exists only in tests and with the feature `fuzzing`.

use std::sync::LazyLock;

use super::*;

/// The base64 text of the password, as it is sent.
const SECRET: &str = "YW5uOmh1c2gtaHVzaA";

/// Reads any bytes as the response to a token request, and as a challenge.
pub fn registry_token(data: &[u8]) {
    match parse(data, "r.example") {
        Ok(Authorization { value, .. }) => assert!(value.is_sensitive()),
        Err(error) => assert!(
            !error.to_string().contains('\n'),
            "the error is not on one line: {error:?}"
        ),
    }
    let Ok(challenge) = HeaderValue::from_bytes(data) else {
        return;
    };
    let headers = HeaderMap::from_iter([(WWW_AUTHENTICATE, challenge)]);
    for plain_http in [true, false] {
        answer_challenge(
            &headers,
            &Registry {
                plain_http,
                ..Registry::default()
            },
        );
    }
}

fn answer_challenge(headers: &HeaderMap, settings: &Registry) {
    static CLIENT: LazyLock<reqwest::Client> = LazyLock::new(|| {
        _ = rustls::crypto::ring::default_provider().install_default();
        reqwest::Client::new()
    });
    let password = Secret::new("hush-hush");
    let credentials = Credentials::Basic {
        username: "ann".into(),
        password,
    };
    let host = "r.example:5000".to_owned();
    let scope = Scope {
        host,
        repository: "team/wiki".into(),
        operation: Operation::Push,
    };
    let Ok(Answer::TokenRequest(request)) =
        scope.answer(headers, Some(&credentials), settings, &CLIENT)
    else {
        return;
    };
    // A realm can be a URL to which no request can be sent.
    let Ok(request) = request.build() else { return };
    let url = request.url();
    let is_same = settings.plain_http && url.host_str() == Some("r.example");
    assert!(
        url.scheme() == "https" || (url.scheme() == "http" && is_same),
        "{url}"
    );
    assert!(!url.as_str().contains(SECRET));
}

#[cfg(test)]
#[path = "../../../../../fuzz/replay.rs"]
mod replay;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replays_the_corpus_of_registry_token() {
        replay::replay("registry_token", registry_token);
    }
}
