//! The page for operators from the real server: its files, and the headers that restrict browsers.

use std::path::{Path, PathBuf};

use reqwest::header::HeaderMap;

use crate::administration::admin::AdminClient;
use crate::support::process::{WorkDir, http_client};

const CONFIG: &str = "[admin]\nlisten = \"127.0.0.1:0\"\n";
/// The headers of each file, with parts of their values.
const HEADERS: [(&str, &str); 7] = [
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self';",
    ),
    (
        "content-security-policy",
        "require-trusted-types-for 'script'",
    ),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-embedder-policy", "require-corp"),
    ("cross-origin-resource-policy", "same-origin"),
];

/// The paths of all files of the page.
fn paths() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../larder-admin/assets");
    let (mut folders, mut files) = (vec![root.clone()], Vec::new());
    while let Some(folder) = folders.pop() {
        let items: Vec<PathBuf> = std::fs::read_dir(folder)
            .unwrap()
            .map(|item| item.unwrap().path())
            .collect();
        let (more, found): (Vec<_>, Vec<_>) = items.into_iter().partition(|path| path.is_dir());
        folders.extend(more);
        files.extend(found);
    }
    let relative = |path: PathBuf| {
        path.strip_prefix(&root)
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned()
    };
    files
        .into_iter()
        .map(relative)
        .map(|path| format!("/assets/{path}"))
        .collect()
}

fn check_headers(path: &str, headers: &HeaderMap) {
    for (name, part) in HEADERS {
        let value = headers
            .get(name)
            .map(|value| value.to_str().unwrap())
            .unwrap_or_default();
        assert!(value.contains(part), "{path}: {name}: {value}");
    }
    let policy = headers["content-security-policy"].to_str().unwrap();
    assert!(
        !policy.contains("unsafe") && !policy.contains('*'),
        "{policy}"
    );
}

#[tokio::test]
async fn every_file_of_the_page_is_sent_with_headers_that_restrict_it() {
    // A token is needed for the data on the page, but not for the page itself.
    let token = format!("{CONFIG}token = \"sha256:{}\"\n", "0".repeat(64));
    let work_dir = WorkDir::with_guests("echo").file("larder.toml", &token);
    let (admin, _) = AdminClient::open(&work_dir);
    let (client, paths) = (http_client(), paths());
    assert!(paths.len() > 50, "{paths:?}");
    for path in paths.iter().map(String::as_str).chain(["/"]) {
        let url = format!("http://{}{path}", admin.address());
        let response = client.get(&url).send().await.unwrap();
        assert_eq!(response.status(), 200, "{path}");
        check_headers(path, response.headers());
        assert_eq!(response.headers()["cache-control"], "no-cache", "{path}");
        let etag = response.headers()["etag"].clone();
        let ending = path.rsplit_once('.').map_or("html", |(_, ending)| ending);
        let kinds = [
            ("js", "text/javascript"),
            ("css", "text/css"),
            ("html", "text/html"),
            ("svg", "image/svg+xml"),
        ];
        let expected = kinds.iter().find(|(known, _)| *known == ending).unwrap().1;
        let kind = response.headers()["content-type"]
            .to_str()
            .unwrap()
            .to_owned();
        assert!(kind.starts_with(expected), "{path}: {kind}");
        assert!(!response.bytes().await.unwrap().is_empty(), "{path}");
        let again = client
            .get(&url)
            .header("if-none-match", etag)
            .send()
            .await
            .unwrap();
        assert_eq!(again.status(), 304, "{path}");
        check_headers(path, again.headers());
    }
    for path in [
        "/assets/",
        "/assets/app",
        "/assets/app/none.js",
        "/assets/..%2fCargo.toml",
        "/assets/%2e%2e/lib.rs",
    ] {
        let response = client
            .get(format!("http://{}{path}", admin.address()))
            .send()
            .await
            .unwrap();
        assert_eq!(response.status(), 404, "{path}");
        check_headers(path, response.headers());
    }
}

#[tokio::test]
async fn the_page_loads_nothing_from_elsewhere() {
    let work_dir = WorkDir::with_guests("echo").file("larder.toml", CONFIG);
    let (admin, _) = AdminClient::open(&work_dir);
    let (status, page) = admin.get("/").await;
    assert_eq!(status, 200);
    let addresses = ["src=\"", "href=\""]
        .map(|start| page.split(start).skip(1).collect::<Vec<_>>())
        .concat();
    assert!(addresses.len() > 5, "{page}");
    for address in addresses {
        assert!(address.starts_with("/assets/"), "{address}");
        let (path, _) = address.split_once('"').unwrap();
        assert_eq!(admin.get(path).await.0, 200, "{path}");
    }
}
