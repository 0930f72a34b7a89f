//! Answers everything with its revision: a text of fixed width that a test changes in the built component,
//! so that any number of revisions come out of one build.

use std::hint::black_box;
use std::time::Duration;

use guests::*;

struct Revision;

static REVISION: &str = "revision-00000000";

/// The optimiser must not see through it, or the text would be in the component in pieces.
fn revision() -> &'static str {
    black_box(REVISION)
}

impl Behaviour for Revision {
    fn describe() -> Description {
        Description { version: Some(revision().to_owned()), ..description() }
    }

    /// Two that are there in every revision, and one that is there in this one only.
    fn entries() -> Vec<Entry> {
        let own = format!("revision://only/{}", revision());
        ["revision://now", "revision://many", &own]
            .map(|uri| Entry { name: revision().to_owned(), ..entry(uri) })
            .to_vec()
    }

    fn templates() -> Vec<&'static str> {
        vec!["revision://template/{word}"]
    }

    fn read(request: ReadRequest) -> Result<Reading, Error> {
        match request.uri.as_str() {
            "revision://many" => several(),
            "revision://template/gate" => at_the_gate(),
            _ => text(revision()),
        }
    }
}

fn several() -> Result<Reading, Error> {
    let content = |_| content(Body::Text(revision().to_owned()), "text/plain");
    reading((0..3).map(content).collect())
}

/// Says that it waits, and waits until somebody opens the gate: files in a granted folder.
fn at_the_gate() -> Result<Reading, Error> {
    if let Err(error) = std::fs::write("/gate/waits", revision()) {
        return Err(Error::Failed(format!("there is no gate: {error}")));
    }
    while !std::fs::exists("/gate/open").unwrap_or_default() {
        std::thread::sleep(Duration::from_millis(5));
    }
    text(revision())
}

guests::export!(Revision);
