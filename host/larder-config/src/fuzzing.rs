//! The fuzz target for `NAME.toml`. It exists only in tests and with the feature `fuzzing`.

use std::path::Path;

use super::convert::grant_request_file::parse_with;

/// A variable of the server that no request may reveal.
const SECRET: &str = "value-of-a-variable";
/// Maximum bytes of all errors of one file. The errors are one line of the log.
const MAX_ERRORS: usize = 16 << 10;

/// Parses the `NAME.toml` of a component. The request and the errors never contain variables of the server, and all
/// their texts fit on lines of a log.
pub fn grant_request(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let env = [("SECRET".to_owned(), SECRET.to_owned())].into();
    match parse_with(text, Path::new("/usr"), &env) {
        Ok(request) => {
            let settings = request
                .settings
                .iter()
                .map(|(name, value)| format!("{name} = {value}"));
            for line in request.lines().into_iter().chain(settings) {
                assert!(text.contains(SECRET) || !line.contains(SECRET), "{line:?}");
            }
            assert_eq!(
                parse_with(text, Path::new("/usr"), &env).as_ref(),
                Ok(&request)
            );
        }
        Err(errors) => {
            assert!(
                !errors.is_empty() && errors.len() <= MAX_ERRORS,
                "{} bytes",
                errors.len()
            );
            assert!(
                text.contains(SECRET) || !errors.contains(SECRET),
                "{errors:?}"
            );
            assert!(
                !errors.contains('\n'),
                "the errors are not on one line: {errors:?}"
            );
        }
    }
}

#[cfg(test)]
#[path = "../../../fuzz/replay.rs"]
mod replay;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replays_the_corpus_of_grant_request() {
        replay::replay("grant_request", grant_request);
    }
}
