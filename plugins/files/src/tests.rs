//! Tests of the provider with temporary folders.

use std::fs;
use std::path::Path;
use std::time::Duration;

use larder_provider::{
    Body, CompletionRequest, DirectoryQuery, EntryPage, Error, Hits, Provider, Query, Reading,
    Request, Result, SearchQuery, set_setting, set_time_left,
};

use crate::Files;
use provider_support::disk::Disk;

use crate::folder::Folder;
use crate::settings::Settings;

struct Fixture {
    files: Files,
    root: tempfile::TempDir,
}

/// Creates files at these paths, granted as `/docs`. Each file contains its own path.
fn fixture(paths: &[&str]) -> Fixture {
    let root = tempfile::tempdir().unwrap();
    for path in paths {
        write(root.path(), path, path);
    }
    let docs = Folder::new("/docs", Disk(root.path().to_owned()));
    Fixture {
        files: Files::with_folders(vec![docs], Settings::read().unwrap()),
        root,
    }
}

fn write(root: &Path, path: &str, content: impl AsRef<[u8]>) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

fn uris(page: &EntryPage) -> Vec<&str> {
    page.entries
        .iter()
        .map(|entry| entry.uri.as_str())
        .collect()
}

fn read(files: &Files, uri: &str) -> Result<Reading> {
    files.read(&Request::new(uri))
}

fn check_read(files: &Files, uri: &str, expected: &str) {
    let actual = match read(files, uri) {
        Ok(reading) => match &reading.contents[0].body {
            Body::Text(text) => format!(
                "text {}: {text}",
                reading.contents[0].mime_type.as_deref().unwrap()
            ),
            Body::Blob(bytes) => {
                format!(
                    "blob {}: {bytes:?}",
                    reading.contents[0].mime_type.as_deref().unwrap()
                )
            }
        },
        Err(error) => error.to_string(),
    };
    assert!(actual.starts_with(expected), "{uri}: {actual}");
}

const MIXED: &[&str] = &[
    "b/z.md",
    "b.md",
    "b-c.md",
    "a b/ü#?.txt",
    ".env",
    ".git/config",
    "target/x",
    "x",
];

const LISTED: &[&str] = &[
    "file:///docs/a%20b/%C3%BC%23%3F.txt",
    "file:///docs/b-c.md",
    "file:///docs/b.md",
    "file:///docs/b/z.md",
    "file:///docs/x",
];

#[test]
fn the_list_is_sorted_by_uri_without_hidden_files() {
    let Fixture { files, root: _kept } = fixture(MIXED);
    let page = files.list(&Query::new(100)).unwrap();
    assert_eq!(uris(&page), LISTED);
    let entry = &page.entries[3];
    assert_eq!(
        (entry.name.as_str(), entry.title.as_deref()),
        ("z.md", Some("b/z.md"))
    );
    assert_eq!(
        (entry.mime_type.as_deref(), entry.size),
        (Some("text/markdown"), Some(6))
    );
    let modified = entry
        .details
        .as_ref()
        .and_then(|details| details.last_modified.clone())
        .unwrap();
    assert!(
        modified.starts_with("20") && modified.ends_with('Z'),
        "{modified}"
    );
}

#[test]
fn pages_of_any_size_add_up_to_the_list() {
    let fixture = fixture(MIXED);
    for limit in 1..=6 {
        let mut query = Query::new(limit);
        let mut all = Vec::new();
        loop {
            let page = fixture.files.list(&query).unwrap();
            all.extend(uris(&page).iter().map(|uri| uri.to_string()));
            query.cursor = page.next_cursor;
            if query.cursor.is_none() {
                break;
            }
        }
        assert_eq!(all, LISTED, "limit {limit}");
    }
}

#[test]
fn reads_entries_as_text_or_bytes() {
    let Fixture { files, root } = fixture(MIXED);
    for entry in files.list(&Query::new(100)).unwrap().entries {
        let reading = read(&files, &entry.uri).unwrap();
        assert_eq!(reading.version, entry.version);
    }
    write(root.path(), "p.png", b"\x89PNG");
    write(root.path(), "picture", b"\x89PNG\r\n\x1a\n");
    write(root.path(), "odd.txt", b"\xff");
    write(root.path(), "odd", b"a\0b");
    check_read(
        &files,
        "file:///docs/a%20b/%C3%BC%23%3F.txt",
        "text text/plain: a b/ü#?.txt",
    );
    check_read(&files, "file:///docs/x", "text text/plain: x");
    check_read(&files, "file:///docs/p.png", "blob image/png: [137");
    check_read(&files, "file:///docs/odd.txt", "blob text/plain: [255");
    check_read(
        &files,
        "file:///docs/odd",
        "blob application/octet-stream: [97, 0",
    );
    check_read(&files, "file:///docs/picture", "blob image/png: [137");
    check_read(&files, "file:///docs/b", "text inode/directory: z.md\n");
    check_read(
        &files,
        "file:///docs",
        "text inode/directory: a b/\nb-c.md\nb.md\nb/\nodd\n",
    );
}

#[test]
fn rejects_paths_that_are_outside_hidden_or_missing() {
    let Fixture { files, root: _kept } = fixture(MIXED);
    check_read(&files, "file:///docs/x", "text text/plain: x");
    check_read(&files, "file:///docs/none.md", "not found");
    check_read(&files, "file:///docs/x/y", "not found");
    check_read(&files, "file:///docs/.env", "not found");
    check_read(&files, "file:///docs/.git/config", "not found");
    check_read(&files, "file:///docs/target/x", "not found");
    check_read(&files, "file:///docsx/x", "not found");
    check_read(&files, "file:///etc/passwd", "not found");
    check_read(&files, "file:///docs/../etc/passwd", "invalid");
    check_read(&files, "file:///docs/%2e%2e/etc/passwd", "invalid");
    check_read(&files, "file:///docs/b%2Fz.md", "invalid");
    check_read(&files, "file:///docs//etc/passwd", "not found");
}

#[test]
fn applies_the_settings() {
    set_setting("hidden", "true");
    set_setting("ignore", "b, x");
    set_setting("depth", "0");
    let limited = fixture(MIXED);
    assert_eq!(
        uris(&limited.files.list(&Query::new(9)).unwrap()),
        [
            "file:///docs/.env",
            "file:///docs/b-c.md",
            "file:///docs/b.md",
        ]
    );
    set_setting("max_bytes", "3");
    let small = fixture(MIXED);
    check_read(
        &small.files,
        "file:///docs/b.md",
        "invalid: the file is larger than the limit of 3 bytes (setting `max_bytes`)",
    );
    set_setting("hidden", "yes");
    assert!(Settings::read().is_err_and(|error| error.to_string().contains("`hidden`")));
}

#[test]
fn returns_not_modified_for_a_known_version() {
    let Fixture { files, root } = fixture(&["a.md"]);
    let version = read(&files, "file:///docs/a.md").unwrap().version;
    let known = Request {
        known_version: version.clone(),
        ..Request::new("file:///docs/a.md")
    };
    assert_eq!(files.read(&known).err(), Some(Error::NotModified));
    let versions = files.versions(&["file:///docs/a.md".into(), "file:///docs/b.md".into()]);
    assert_eq!(versions, Ok(vec![version, None]));
    write(root.path(), "a.md", "longer than before");
    assert!(files.read(&known).is_ok());
}

#[test]
fn completes_paths_one_folder_at_a_time() {
    let Fixture { files, root: _kept } = fixture(&["a/b/c.md", "a/bee.md", "a/.x", "apple", "b"]);
    let check = |prefix: &str, expected: &[&str]| {
        let request = CompletionRequest {
            uri_template: "file:///docs/{+path}".into(),
            variable: "path".into(),
            prefix: prefix.into(),
            filled: Vec::new(),
        };
        assert_eq!(
            files.complete(&request).unwrap().values,
            expected,
            "{prefix:?}"
        );
    };
    check("", &["a/", "apple", "b"]);
    check("a", &["a/", "apple"]);
    check("a/", &["a/b/", "a/bee.md"]);
    check("a/b/c", &["a/b/c.md"]);
    check("nowhere/", &[]);
    check("../", &[]);
    check("/", &[]);
    check(".", &[]);
}

#[test]
fn nested_grants_are_listed_and_read_separately() {
    let Fixture {
        root: outer,
        files: _,
    } = fixture(&["a", "in/lost", "z"]);
    let Fixture {
        root: inner,
        files: _,
    } = fixture(&["kept"]);
    let folders = vec![
        Folder::new("/", Disk(outer.path().to_owned())),
        Folder::new("/in", Disk(inner.path().to_owned())),
    ];
    let files = Files::with_folders(folders, Settings::read().unwrap());
    let page = files.list(&Query::new(9)).unwrap();
    assert_eq!(uris(&page), ["file:///a", "file:///in/kept", "file:///z"]);
    check_read(&files, "file:///in/lost", "not found");
    check_read(&files, "file:///in/kept", "text text/plain: kept");
    assert_eq!(files.describe().claims, ["file:///", "file:///in/"]);
    assert_eq!(
        files
            .match_uri("file:///in/x/y")
            .map(|found| found.variables[0].value.clone()),
        Some("x/y".into())
    );
}

/// The URIs below `file:///docs/` that are listed with these settings. Each URI is also read, and all other files in
/// the folder must be reported as not found.
fn visible(paths: &[&str], settings: &[(&str, &str)]) -> Vec<String> {
    settings
        .iter()
        .for_each(|(name, value)| set_setting(name, value));
    let Fixture { files, root: _kept } = fixture(paths);
    let listed: Vec<String> = uris(&files.list(&Query::new(100)).unwrap())
        .iter()
        .map(|uri| uri.to_string())
        .collect();
    for path in paths {
        let uri = format!("file:///docs/{path}");
        assert_eq!(read(&files, &uri).is_ok(), listed.contains(&uri), "{uri}");
    }
    listed
        .iter()
        .map(|uri| uri.replace("file:///docs/", ""))
        .collect()
}

#[test]
fn patterns_decide_what_is_listed_and_read() {
    let paths = [
        "a.md",
        "a.tmp",
        "in/b.md",
        "in/keep.tmp",
        "in/out/c.md",
        "secret/d.md",
        "secret/e/f.md",
    ];
    let exclude = visible(&paths, &[("exclude", "*.tmp, !keep.tmp, /secret/")]);
    assert_eq!(exclude, ["a.md", "in/b.md", "in/keep.tmp", "in/out/c.md"]);
    let include = visible(&paths, &[("exclude", "out/"), ("include", "in/, f.md")]);
    assert_eq!(include, ["in/b.md", "in/keep.tmp", "secret/e/f.md"]);
}

#[test]
fn ignore_files_apply_to_their_folder() {
    let root = tempfile::tempdir().unwrap();
    for (path, content) in [
        (".gitignore", "*.tmp\n/build/\n"),
        ("in/.gitignore", "!keep.tmp\nsecret.md\n"),
        ("a.tmp", ""),
        ("build/x", ""),
        ("in/build/x", ""),
        ("in/keep.tmp", ""),
        ("in/secret.md", ""),
        ("secret.md", ""),
    ] {
        write(root.path(), path, content);
    }
    let docs = || vec![Folder::new("/docs", Disk(root.path().to_owned()))];
    let files = Files::with_folders(docs(), Settings::read().unwrap());
    let expected = [
        "file:///docs/in/build/x",
        "file:///docs/in/keep.tmp",
        "file:///docs/secret.md",
    ];
    assert_eq!(uris(&files.list(&Query::new(9)).unwrap()), expected);
    check_read(&files, "file:///docs/build/x", "not found");
    check_read(&files, "file:///docs/build", "not found");
    check_read(&files, "file:///docs/in/secret.md", "not found");
    check_read(
        &files,
        "file:///docs/in",
        "text inode/directory: build/\nkeep.tmp\n",
    );
    assert_eq!(
        files.versions(&["file:///docs/a.tmp".into()]),
        Ok(vec![None])
    );
    set_setting("ignore_files", "");
    let all = Files::with_folders(docs(), Settings::read().unwrap());
    check_read(&all, "file:///docs/build/x", "text text/plain");
}

#[test]
fn folders_are_listed_on_request() {
    let all = visible(&["a/b.md", "c.md"], &[("folders", "true")]);
    assert_eq!(all, ["a/", "a/b.md", "c.md"]);
}

#[test]
fn the_children_of_a_folder_have_pages() {
    let Fixture { files, root: _root } = fixture(&["b/x.md", "b/c d/y", "a.md", "target/z"]);
    let page = |uri: &str, cursor: Option<&str>| {
        let query = DirectoryQuery {
            uri: uri.into(),
            cursor: cursor.map(str::to_owned),
            limit: 1,
        };
        let page = files.list_directory(&query)?;
        Ok((uris(&page).join(" "), page.next_cursor))
    };
    let next = |cursor: &str| Some(cursor.to_owned());
    let root = page("file:///docs/", None).unwrap();
    assert_eq!(root, ("file:///docs/a.md".to_owned(), next("a.md")));
    let rest = page("file:///docs/", Some("a.md")).unwrap();
    assert_eq!(
        rest,
        ("file:///docs/b/".to_owned(), None),
        "`target` is not visible"
    );
    let below = page("file:///docs/b/", None).unwrap();
    assert_eq!(below, ("file:///docs/b/c%20d/".to_owned(), next("c%20d/")));
    for missing in [
        "file:///docs/a.md/",
        "file:///docs/none/",
        "file:///docs/target/",
        "file:///docs/?after=a/",
    ] {
        assert_eq!(page(missing, None), Err(Error::NotFound), "{missing}");
    }
}

#[test]
fn a_large_folder_is_read_in_parts() {
    let Fixture { files, root } = fixture(&[]);
    for number in 0..2500 {
        write(root.path(), &format!("{number:04}"), "");
    }
    let (mut query, mut all) = (Query::new(700), Vec::new());
    while all.is_empty() || query.cursor.is_some() {
        let page = files.list(&query).unwrap();
        all.extend(uris(&page).iter().map(|uri| uri.to_string()));
        query.cursor = page.next_cursor;
    }
    assert_eq!(all.len(), 2500);
    assert!(all.is_sorted());
    let last = Query {
        uri_prefix: Some("file:///docs/249".into()),
        ..Query::new(9)
    };
    assert_eq!(files.list(&last).unwrap().entries.len(), 9);
    check_read(
        &files,
        "file:///docs/?after=2498",
        "text inode/directory: 2499\n",
    );
    check_read(&files, "file:///docs/?before=2498", "not found");
    check_read(&files, "file:///docs/0001?after=0", "not found");
    let first = read(&files, "file:///docs/").unwrap();
    let Body::Text(listing) = &first.contents[0].body else {
        panic!("not a text")
    };
    assert!(listing.ends_with("0999\n… and 1500 more: file:///docs/?after=0999\n"));
}

#[cfg(target_os = "linux")]
#[test]
fn names_that_are_not_utf8_are_counted() {
    use std::os::unix::ffi::OsStrExt as _;
    let Fixture { files, root } = fixture(&["good"]);
    let before = files.versions(&["file:///docs/".into()]).unwrap();
    fs::write(
        root.path().join(std::ffi::OsStr::from_bytes(b"bad\xff")),
        "",
    )
    .unwrap();
    check_read(
        &files,
        "file:///docs/",
        "text inode/directory: good\n… and 1 whose names are not UTF-8",
    );
    assert_ne!(files.versions(&["file:///docs/".into()]).unwrap(), before);
}

fn found(files: &Files, query: &SearchQuery) -> Vec<(String, String)> {
    let hits = files.search(query).unwrap().hits;
    let name = |uri: &str| uri.strip_prefix("file:///docs/").unwrap().to_owned();
    hits.into_iter()
        .map(|hit| (name(&hit.entry.uri), hit.excerpt.unwrap_or_default()))
        .collect()
}

#[test]
fn searches_names_and_texts_by_rank() {
    let Fixture { files, root } = fixture(&[".env", "target/roses.md", ".gitignore"]);
    write(root.path(), ".gitignore", "*.tmp\n");
    write(root.path(), "a/note.md", "# Trees\n\nOne of the roses.\n");
    write(root.path(), "b.md", "# Roses\n\nRed and white.\n");
    write(root.path(), "c/roses.txt", "about nothing else");
    write(root.path(), "draft.tmp", "roses");
    write(root.path(), "p.png", b"\x89PNG roses");
    write(root.path(), "zero.txt", b"roses\0");
    let search = |text: &str| found(&files, &SearchQuery::new(text, 10));
    let roses = search("ROSES");
    let names: Vec<&str> = roses.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["b.md", "c/roses.txt", "a/note.md"]);
    assert_eq!(
        (roses[1].1.as_str(), roses[2].1.as_str()),
        ("", "One of the roses.")
    );
    assert_eq!(search("png")[0].0, "p.png");
    assert_eq!(
        (
            search("nothing such").len(),
            search("?!").len(),
            search("tmp").len()
        ),
        (1, 0, 0)
    );
    let within = SearchQuery {
        uri_prefix: Some("file:///docs/a/".into()),
        ..SearchQuery::new("roses", 10)
    };
    assert_eq!(found(&files, &within)[0].0, "a/note.md");
    let kind = SearchQuery {
        kind: Some("folder".into()),
        ..SearchQuery::new("roses", 10)
    };
    assert!(found(&files, &kind).is_empty());
    assert_eq!(found(&files, &SearchQuery::new("roses", 1)).len(), 1);
}

/// Whether the hits say that other hits are missing.
fn is_incomplete(hits: &Hits) -> bool {
    let details = hits.hits.last().and_then(|hit| hit.entry.details.as_ref());
    let mut keys = details.into_iter().flat_map(|details| &details.metadata);
    keys.any(|(key, _)| key == "dev.larder.search/incomplete")
}

#[test]
fn a_search_reads_only_as_much_as_the_settings_allow() {
    let check = |name: &str, value: &str, expected: usize, is_expected_complete: bool| {
        set_setting(name, value);
        let Fixture { files, root } = fixture(&[]);
        for file in ["a/x.txt", "b/x.txt", "roses.txt"] {
            write(root.path(), file, "roses");
        }
        // A large file is searched up to a limit.
        write(root.path(), "c/x.txt", "x ".repeat(200_000) + "roses");
        let hits = files.search(&SearchQuery::new("roses", 10)).unwrap();
        assert_eq!(
            hits.hits[0].entry.uri, "file:///docs/roses.txt",
            "{name} = {value}"
        );
        assert_eq!(hits.hits.len(), expected, "{name} = {value}");
        assert_eq!(
            !is_incomplete(&hits),
            is_expected_complete,
            "{name} = {value}"
        );
        assert_eq!(
            hits.freshness.is_some(),
            is_expected_complete,
            "{name} = {value}"
        );
    };
    check("search_files", "2000", 3, true);
    check("search_files", "0", 1, false);
    check("search_files", "4", 3, true);
    check("search_bytes", "300000", 3, true);
    check("search_bytes", "4", 1, false);
}

#[test]
fn a_large_folder_does_not_hide_others() {
    set_setting("search_files", "20");
    let Fixture { files, root } = fixture(&[]);
    for number in 0..1000 {
        write(root.path(), &format!("big/{number}.txt"), "tulips");
    }
    write(root.path(), "small/deep/note.txt", "roses");
    write(root.path(), "z/roses", "");
    let hits = files.search(&SearchQuery::new("roses", 10)).unwrap();
    let found: Vec<_> = hits.hits.iter().map(|hit| hit.entry.uri.as_str()).collect();
    assert_eq!(
        found,
        ["file:///docs/z/roses", "file:///docs/small/deep/note.txt"]
    );
    assert!(is_incomplete(&hits));
}

#[test]
fn a_search_ends_in_time() {
    let Fixture { files, root: _kept } = fixture(&["roses.txt"]);
    set_time_left(Duration::ZERO);
    let error = files.search(&SearchQuery::new("roses", 10)).err();
    assert!(matches!(error, Some(Error::Unavailable(_))), "{error:?}");
}
