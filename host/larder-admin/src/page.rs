//! The page for operators: the files of `assets`, which are part of the program. These files contain no data of this
//! server, so they need no credential. The page gets its data from the API.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use axum::extract::Path;
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderMap, HeaderValue, IF_NONE_MATCH};

use super::request_headers::header_texts;
use super::response::text;
use larder_model::name::Digest;

/// The path of the page, and of its files.
pub(super) const PATH: &str = "/";
pub(super) const ASSETS: &str = "/assets/{*path}";
/// The file at the path of the page.
const INDEX: &str = "index.html";
/// Browsers check each time whether a file changed, because the server may have been replaced by another version.
const REVALIDATE: HeaderValue = HeaderValue::from_static("no-cache");

macro_rules! files {
    ($($path:literal)*) => { &[$(($path, include_bytes!(concat!("../assets/", $path)))),*] };
}

/// All files by their paths in `assets`. A test compares them with the folder.
const FILES: &[(&str, &[u8])] = files![
    "app/announce.js" "app/api.js" "app/dom.js" "app/early_theme.js" "app/format.js" "app/icons.js"
    "app/live.js" "app/main.js" "app/router.js" "app/session.js" "app/shell.js" "app/text.js" "app/theme.js"
    "content/bytes.js" "content/hex_view.js" "content/image_type.js" "content/image_view.js"
    "content/json_view.js" "content/markdown_blocks.js" "content/markdown_inline.js"
    "content/markdown_view.js" "content/uri_template.js" "content/viewer.js" "icon.svg" "index.html"
    "parts/caller.js" "parts/chart.js" "parts/chart_scale.js" "parts/chart_table.js" "parts/choices.js"
    "parts/combobox.js" "parts/confirm.js" "parts/diff.js" "parts/facts.js" "parts/filters.js"
    "parts/histogram.js" "parts/keyed_list.js" "parts/lazy_details.js" "parts/meter.js" "parts/page_head.js"
    "parts/paged_list.js" "parts/problems.js" "parts/sentence.js" "parts/states.js" "parts/table.js"
    "parts/tabs.js" "parts/tiles.js" "style/base.css" "style/content.css" "style/layout.css"
    "style/parts.css" "style/tables.css" "style/views.css" "views/all.js" "views/approvals.js"
    "views/catalog_nav.js" "views/definitions.js" "views/event_rows.js" "views/events.js" "views/login.js"
    "views/not_found.js" "views/overview.js" "views/provider.js" "views/provider_log.js"
    "views/provider_parts.js" "views/providers.js" "views/read.js" "views/resources.js" "views/teams.js"
    "views/templates.js"
];

/// A file in the form in which it is sent.
struct Asset {
    content: &'static [u8],
    content_type: &'static str,
    etag: HeaderValue,
}

static ASSETS_BY_PATH: LazyLock<BTreeMap<&str, Asset>> = LazyLock::new(|| {
    FILES
        .iter()
        .filter_map(|(path, content)| Some((*path, Asset::new(path, content)?)))
        .collect()
});

/// Returns the page.
pub(super) async fn index(headers: HeaderMap) -> Response {
    response(INDEX, &headers)
}

/// Returns a file of the page.
pub(super) async fn asset(Path(path): Path<String>, headers: HeaderMap) -> Response {
    response(&path, &headers)
}

fn response(path: &str, headers: &HeaderMap) -> Response {
    let Some(asset) = ASSETS_BY_PATH.get(path) else {
        return unknown_file();
    };
    let common = [(CACHE_CONTROL, REVALIDATE), (ETAG, asset.etag.clone())];
    if is_known(&asset.etag, headers) {
        (StatusCode::NOT_MODIFIED, common).into_response()
    } else {
        (common, [(CONTENT_TYPE, asset.content_type)], asset.content).into_response()
    }
}

fn unknown_file() -> Response {
    let message = "the page has no such file: open `/`";
    text(StatusCode::NOT_FOUND, message.into())
}

/// Whether the browser has this version of the file.
fn is_known(etag: &HeaderValue, headers: &HeaderMap) -> bool {
    let known = header_texts(headers, &IF_NONE_MATCH);
    let mut tags = known
        .flat_map(|value| value.split(','))
        .map(|tag| tag.trim().trim_start_matches("W/"));
    tags.any(|tag| tag == "*" || tag.as_bytes() == etag.as_bytes())
}

impl Asset {
    /// None if the path has no known ending. A test prevents this.
    fn new(path: &str, content: &'static [u8]) -> Option<Self> {
        let (_, ending) = path.rsplit_once('.')?;
        let content_type = match ending {
            "css" => "text/css; charset=utf-8",
            "html" => "text/html; charset=utf-8",
            "js" => "text/javascript; charset=utf-8",
            "svg" => "image/svg+xml",
            _ => return None,
        };
        let etag = HeaderValue::try_from(format!("\"{}\"", Digest::of(content))).ok()?;
        Some(Self {
            content,
            content_type,
            etag,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path as FilePath, PathBuf};

    use super::*;

    fn folder() -> PathBuf {
        FilePath::new(env!("CARGO_MANIFEST_DIR")).join("assets")
    }

    fn files_in(folder: &FilePath) -> Vec<PathBuf> {
        let items = std::fs::read_dir(folder)
            .unwrap()
            .map(|item| item.unwrap().path());
        items
            .flat_map(|path| {
                if path.is_dir() {
                    files_in(&path)
                } else {
                    vec![path]
                }
            })
            .collect()
    }

    #[test]
    fn every_file_of_the_folder_is_served() {
        let root = folder();
        let relative = |path: PathBuf| {
            path.strip_prefix(&root)
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned()
        };
        let mut found: Vec<_> = files_in(&root).into_iter().map(relative).collect();
        found.sort();
        let served: Vec<_> = ASSETS_BY_PATH.keys().copied().collect();
        assert_eq!(served, found, "FILES differs from the folder `assets`");
    }

    #[test]
    fn files_are_short_and_say_their_purpose() {
        for (path, content) in FILES {
            let text = std::str::from_utf8(content).unwrap();
            assert!(
                text.lines().count() <= 400,
                "{path} has more than 400 lines"
            );
            let is_commented = ["// ", "/* ", "<!doctype html>\n<!-- ", "<!-- "]
                .iter()
                .any(|start| text.starts_with(start));
            assert!(is_commented, "{path} does not begin with a comment");
        }
    }

    #[test]
    fn every_import_exists() {
        for (path, content) in FILES.iter().filter(|(path, _)| path.ends_with(".js")) {
            let text = std::str::from_utf8(content).unwrap();
            let imported = text
                .lines()
                .filter_map(|line| line.strip_suffix("\";")?.split_once(" from \""));
            for (_, target) in imported {
                let folder = FilePath::new(path).parent().unwrap().to_str().unwrap();
                let name = match target.strip_prefix("../") {
                    Some(name) => name.to_owned(),
                    None => format!("{folder}/{}", target.strip_prefix("./").unwrap()),
                };
                assert!(
                    ASSETS_BY_PATH.contains_key(name.as_str()),
                    "{path} imports {target}"
                );
            }
        }
    }

    #[test]
    fn text_cannot_become_markup() {
        let forbidden = [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "Function(",
        ];
        for (path, content) in FILES {
            let text = std::str::from_utf8(content).unwrap();
            let found: Vec<_> = forbidden
                .iter()
                .filter(|name| text.contains(**name))
                .collect();
            assert!(found.is_empty(), "{path} uses {found:?}");
            assert!(
                !text.contains("https://") || path.ends_with(".js"),
                "{path} names another server"
            );
        }
    }

    #[test]
    fn a_known_version_is_not_sent_again() {
        let etag = ASSETS_BY_PATH["icon.svg"].etag.clone();
        let status = |value: &str| {
            let headers =
                HeaderMap::from_iter([(IF_NONE_MATCH, HeaderValue::from_str(value).unwrap())]);
            response("icon.svg", &headers).status().as_u16()
        };
        let tag = etag.to_str().unwrap();
        assert_eq!([tag, "*", &format!("\"a\", W/{tag}")].map(status), [304; 3]);
        assert_eq!(
            ["\"other\"", "", tag.trim_matches('"')].map(status),
            [200; 3]
        );
        assert_eq!(
            response("../Cargo.toml", &HeaderMap::new()).status(),
            StatusCode::NOT_FOUND
        );
    }
}
