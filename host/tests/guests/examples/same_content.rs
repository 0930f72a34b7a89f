//! Any number of URIs `same-content:NAME`, which all have the content of the file `same_content` in a granted folder. One write to the
//! file changes all of them, and one call for versions detects the change.

use std::fs;

use exports::larder::provider::version_provider;
use guests::*;

wit_bindgen::generate!({
    path: "../../../wit",
    inline: "
        package guests:same-content;
        world optional {
            export larder:provider/version-provider@0.1.0;
        }
    ",
    export_macro_name: "export_optional",
    with: { "larder:provider/provider-types@0.1.0": guests::bindings::larder::provider::provider_types },
});

struct SameContent;

impl Behaviour for SameContent {
    fn templates() -> Vec<&'static str> {
        vec!["same-content:{name}"]
    }

    fn read(_request: ReadRequest) -> Result<Reading, Error> {
        text(now()?)
    }
}

impl version_provider::Guest for SameContent {
    fn versions(uris: Vec<String>) -> Result<Vec<Option<String>>, Error> {
        let now = now()?;
        Ok(uris.iter().map(|_| Some(now.clone())).collect())
    }
}

fn now() -> Result<String, Error> {
    fs::read_to_string("/data/same_content").map_err(|error| Error::Unavailable(error.to_string()))
}

guests::export!(SameContent);
export_optional!(SameContent);
