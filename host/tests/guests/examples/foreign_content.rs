//! Returns a content under a foreign URI, which is in the request: `foreign-content://as/URI`.

use guests::*;

struct ForeignContent;

impl Behaviour for ForeignContent {
    fn entries() -> Vec<Entry> {
        vec![entry("foreign-content://mine")]
    }

    fn templates() -> Vec<&'static str> {
        vec!["foreign-content://as/{+uri}"]
    }

    fn read(request: ReadRequest) -> Result<Reading, Error> {
        let uri = value(&request, "uri").to_owned();
        reading(vec![Content {
            uri: Some(uri),
            ..content(Body::Text("believe me".to_owned()), "text/plain")
        }])
    }
}

guests::export!(ForeignContent);
