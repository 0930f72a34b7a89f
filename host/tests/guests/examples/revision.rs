//! Answers each read with its revision: a text of fixed width. A test replaces this text in the built component, so one
//! build provides any number of revisions.

use std::hint::black_box;
use std::time::Duration;

use guests::*;

struct Revision;

static REVISION: &str = "revision-00000000";

/// `black_box` keeps the optimizer from splitting the text, which must be in the component in one piece.
fn revision() -> &'static str {
    black_box(REVISION)
}

impl Behaviour for Revision {
    fn describe() -> Description {
        Description {
            version: Some(revision().to_owned()),
            ..description()
        }
    }

    /// Two entries that every revision has, and one entry that only this revision has.
    fn entries() -> Vec<Entry> {
        let own = format!("revision://only/{}", revision());
        ["revision://now", "revision://many", &own]
            .map(|uri| Entry {
                name: revision().to_owned(),
                ..entry(uri)
            })
            .to_vec()
    }

    fn templates() -> Vec<&'static str> {
        vec!["revision://template/{word}"]
    }

    fn read(request: ReadRequest) -> Result<Reading, Error> {
        match request.uri.as_str() {
            "revision://many" => several_contents(),
            "revision://template/gate" => wait_at_gate(),
            _ => text(revision()),
        }
    }
}

fn several_contents() -> Result<Reading, Error> {
    let content = |_| content(Body::Text(revision().to_owned()), "text/plain");
    reading((0..3).map(content).collect())
}

/// Creates the file `waits` in a granted folder, and waits until there is a file `open`.
fn wait_at_gate() -> Result<Reading, Error> {
    if let Err(error) = std::fs::write("/gate/waits", revision()) {
        return Err(Error::Failed(format!("there is no gate: {error}")));
    }
    while !std::fs::exists("/gate/open").unwrap_or_default() {
        std::thread::sleep(Duration::from_millis(5));
    }
    text(revision())
}

guests::export!(Revision);
