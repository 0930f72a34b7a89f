//! Any number of URIs `wave:NAME`, which all have the content of the file `wave` in a granted folder. One write to the
//! file changes all of them, and one call for versions detects the change.

use std::fs;

use exports::larder::provider::version_provider;
use guests::*;

wit_bindgen::generate!({
    path: "../../../wit",
    inline: "
        package guests:wave;
        world optional {
            export larder:provider/version-provider@0.1.0;
        }
    ",
    export_macro_name: "export_optional",
    with: { "larder:provider/provider-types@0.1.0": guests::bindings::larder::provider::provider_types },
});

struct Wave;

impl Behaviour for Wave {
    fn templates() -> Vec<&'static str> {
        vec!["wave:{name}"]
    }

    fn read(_request: ReadRequest) -> Result<Reading, Error> {
        text(now()?)
    }
}

impl version_provider::Guest for Wave {
    fn versions(uris: Vec<String>) -> Result<Vec<Option<String>>, Error> {
        let now = now()?;
        Ok(uris.iter().map(|_| Some(now.clone())).collect())
    }
}

fn now() -> Result<String, Error> {
    fs::read_to_string("/data/wave").map_err(|error| Error::Unavailable(error.to_string()))
}

guests::export!(Wave);
export_optional!(Wave);
