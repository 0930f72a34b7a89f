//! Returns a text or a blob with the size in the URI, or that number of contents. It can report progress first, and the
//! text can consist of control characters.

use guests::*;

struct Huge;

impl Behaviour for Huge {
    fn templates() -> Vec<&'static str> {
        vec![
            "huge://{bytes}",
            "huge://blob/{bytes}",
            "huge://contents/{count}",
            "huge://control/{bytes}",
            "huge://progress/{bytes}",
        ]
    }

    fn read(request: ReadRequest) -> Result<Reading, Error> {
        let number = |name| value(&request, name).parse().unwrap_or(0);
        if request.uri.starts_with("huge://contents/") {
            let one = || content(Body::Text("x".to_owned()), "text/plain");
            return reading((0..number("count")).map(|_| one()).collect());
        }
        let is_control = request.uri.starts_with("huge://control/");
        let bytes = vec![if is_control { 1 } else { b'x' }; number("bytes")];
        if request.uri.starts_with("huge://blob/") {
            return reading(vec![content(Body::Blob(bytes), "application/octet-stream")]);
        }
        if request.uri.starts_with("huge://progress/") {
            host::progress(1.0, None, None);
        }
        text(String::from_utf8(bytes).unwrap_or_default())
    }
}

guests::export!(Huge);
