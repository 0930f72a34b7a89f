//! Serves the files of a granted folder: `versioned-files:line/NAME` is the file NAME. It supports versions, logs each
//! call for versions to the file `asked`, and signals an update if a line is written through it.
//! `versioned-files:draft/NAME` is the same file without a version.

use std::fs;
use std::io::Write as _;

use exports::larder::provider::version_provider;
use guests::*;

wit_bindgen::generate!({
    path: "../../../wit",
    inline: "
        package guests:versioned-files;
        world optional {
            export larder:provider/version-provider@0.1.0;
        }
    ",
    export_macro_name: "export_optional",
    with: { "larder:provider/provider-types@0.1.0": guests::bindings::larder::provider::provider_types },
});

/// Tests create another revision of this component: they replace this text with another text of the same length.
const EDITION: &str = "edition one";

struct VersionedFiles;

impl Behaviour for VersionedFiles {
    fn entries() -> Vec<Entry> {
        vec![entry("versioned-files:edition")]
    }

    fn templates() -> Vec<&'static str> {
        vec![
            "versioned-files:line/{name}",
            "versioned-files:page/{name}",
            "versioned-files:draft/{name}",
            "versioned-files:write/{name}/{line}",
        ]
    }

    fn read(request: ReadRequest) -> Result<Reading, Error> {
        let name = value(&request, "name");
        if request.uri.starts_with("versioned-files:write/") {
            fs::write(format!("/data/{name}"), value(&request, "line")).map_err(failed)?;
            host::resource_updated(&format!("versioned-files:line/{name}"));
            return text("written");
        }
        if request.uri.starts_with("versioned-files:draft/") {
            return text(fs::read_to_string(format!("/data/{name}")).map_err(|_| Error::NotFound)?);
        }
        text(current(&request.uri).ok_or(Error::NotFound)?)
    }
}

impl version_provider::Guest for VersionedFiles {
    fn versions(uris: Vec<String>) -> Result<Vec<Option<String>>, Error> {
        let mut log = fs::File::options()
            .append(true)
            .create(true)
            .open("/data/asked")
            .map_err(failed)?;
        writeln!(log, "{}", uris.join(" ")).map_err(failed)?;
        // The file `page` contains the name of the one page that has changed. A file for each page would be slow.
        let page = fs::read_to_string("/data/page").unwrap_or_default();
        let version = |uri: &String| match uri.strip_prefix("versioned-files:page/") {
            Some(name) => Some((name == page).to_string()),
            None => current(uri),
        };
        Ok(uris.iter().map(version).collect())
    }
}

fn current(uri: &str) -> Option<String> {
    if uri == "versioned-files:edition" {
        return Some(EDITION.to_owned());
    }
    fs::read_to_string(format!(
        "/data/{}",
        uri.strip_prefix("versioned-files:line/")?
    ))
    .ok()
}

fn failed(error: std::io::Error) -> Error {
    Error::Failed(error.to_string())
}

guests::export!(VersionedFiles);
export_optional!(VersionedFiles);
