//! Tests of the provider with temporary folders.

use std::fs;
use std::path::Path;
use std::time::Duration;

use larder_provider::{
    Body, CompletionRequest, Error, Provider, Query, Reading, Request, Result, SearchQuery,
    set_setting, set_time_left,
};
use provider_support::disk::Disk;

use crate::Notes;
use crate::settings::Settings;
use crate::vault::Vault;

const NOTES: &[(&str, &str)] = &[
    (
        "index.md",
        "---\ntitle: Start\ndescription: where to begin\npriority: 0.9\nkind: map\ntags: [home]\n---\n# Index\n[plan](garden/plan.md) [[Roses]] [lost](lost.md)\n",
    ),
    (
        "garden/plan.md",
        "# Plan\nintro #idea\n## Spring\nplant roses\n## Autumn\nrest #idea/slow\n",
    ),
    ("garden/roses.md", "no heading, back to [[index]]\n"),
    ("broken.md", "---\na: [\n---\nstill readable\n"),
    ("ü ?.md", "# Odd\n"),
    (".hidden.md", "hidden\n"),
    (".obsidian/x.md", "hidden\n"),
    ("picture.png", ""),
];

fn notes(files: &[(&str, &str)]) -> (Notes, tempfile::TempDir) {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        write(root.path(), path, text);
    }
    let vault = Vault::new(Disk(root.path().to_owned()), Settings::read().unwrap());
    (Notes { vault: Some(vault) }, root)
}

fn write(root: &Path, path: &str, text: impl AsRef<[u8]>) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn read(notes: &Notes, uri: &str) -> Result<Reading> {
    notes.read(&Request::new(uri))
}

fn check_read(notes: &Notes, uri: &str, expected: &str) {
    let actual = match read(notes, uri).map(|mut reading| reading.contents.remove(0).body) {
        Ok(Body::Text(text)) => text,
        Ok(Body::Blob(_)) => "bytes".to_owned(),
        Err(error) => error.to_string(),
    };
    assert_eq!(actual, expected, "{uri}");
}

fn list(notes: &Notes, limit: u32) -> Vec<String> {
    let (mut query, mut all) = (Query::new(limit), Vec::new());
    loop {
        let page = notes.list(&query).unwrap();
        all.extend(page.entries.into_iter().map(|entry| entry.uri));
        query.cursor = page.next_cursor;
        if query.cursor.is_none() {
            return all;
        }
    }
}

#[test]
fn lists_the_notes_with_their_front_matter() {
    let (notes, _root) = notes(NOTES);
    let expected = [
        "notes:///%C3%BC%20%3F",
        "notes:///broken",
        "notes:///garden/plan",
        "notes:///garden/roses",
        "notes:///index",
        "notes://tags",
    ];
    for limit in 1..8 {
        assert_eq!(list(&notes, limit), expected, "{limit}");
    }
    let entries = notes.list(&Query::new(9)).unwrap().entries;
    let texts = |at: usize| {
        (
            entries[at].title.as_deref(),
            entries[at].description.as_deref(),
        )
    };
    assert_eq!(texts(4), (Some("Start"), Some("where to begin")));
    assert_eq!((texts(2), texts(3)), ((Some("Plan"), None), (None, None)));
    let details = entries[4].details.clone().unwrap();
    assert_eq!(
        (details.kind.as_deref(), details.priority),
        (Some("map"), Some(0.9))
    );
    assert!(
        details.metadata[0].1.contains(r#""tags":["home"]"#),
        "{:?}",
        details.metadata
    );
    let problem = &entries[1].details.as_ref().unwrap().metadata[0];
    assert!(
        problem.0 == "frontMatterProblem" && problem.1.contains("not valid"),
        "{problem:?}"
    );
}

#[test]
fn reads_notes_and_sections() {
    let (notes, root) = notes(NOTES);
    for (path, text) in NOTES
        .iter()
        .filter(|(path, _)| path.ends_with(".md") && !path.starts_with('.'))
    {
        let names: Vec<String> = path
            .trim_end_matches(".md")
            .split('/')
            .map(str::to_owned)
            .collect();
        check_read(&notes, &crate::address::page(&names), text);
    }
    check_read(
        &notes,
        "notes:///garden/plan?section=spring",
        "## Spring\nplant roses\n",
    );
    check_read(
        &notes,
        "notes:///garden/plan?section=Autumn",
        "## Autumn\nrest #idea/slow\n",
    );
    let content = read(&notes, "notes:///garden/plan")
        .unwrap()
        .contents
        .remove(0);
    let sections = &content
        .metadata
        .iter()
        .find(|(key, _)| key == "sections")
        .unwrap()
        .1;
    assert!(
        sections.contains(r#"{"level":2,"section":"spring","title":"Spring"}"#),
        "{sections}"
    );
    write(root.path(), "latin1.md", b"\xff");
    check_read(&notes, "notes:///latin1", "invalid: the note is not UTF-8");
}

#[test]
fn refuses_what_is_not_a_note() {
    let (notes, _root) = notes(NOTES);
    for uri in [
        "notes:///none",
        "notes:///garden",
        "notes:///picture",
        "notes:///picture.png",
        "notes:///.hidden",
        "notes:///.obsidian/x",
        "notes:///index?section=none",
        "notes:///index.md",
        "notes://backlinks/none",
        "notes://links/none",
        "notes://tags/none",
        "notes://other/x",
        "notes:x",
        "file:///index",
    ] {
        check_read(&notes, uri, "not found");
    }
    check_read(
        &notes,
        "notes:///garden/../index",
        "invalid: `..` is not allowed in a path",
    );
    set_setting("max_bytes", "4");
    let (small, _root) = self::notes(NOTES);
    let limit = "invalid: the file is larger than the limit of 4 bytes (setting `max_bytes`)";
    check_read(&small, "notes:///index", limit);
}

#[test]
fn follows_links_in_both_directions() {
    let (notes, _root) = notes(NOTES);
    let links = "# Links in index\n\n- [garden/plan](notes:///garden/plan)\n\
                 - [garden/roses](notes:///garden/roses)\n- lost (there is no such note)\n";
    check_read(&notes, "notes://links/index", links);
    let backlinks = "# Links to index\n\n- [garden/roses](notes:///garden/roses)\n";
    check_read(&notes, "notes://backlinks/index", backlinks);
    check_read(&notes, "notes://backlinks/broken", "# Links to broken\n\n");
}

#[test]
fn a_title_is_a_heading_and_not_a_line_of_code() {
    let (notes, _root) = notes(&[
        ("fence.md", "```sh\n# a comment\n```\n# The title\n"),
        (
            "tilde.md",
            "~~~~\n# one\n~~~\n# two\n~~~~\n\n    # three\n\n<!--\n# four\n-->\n\nThe `title`\n===\n",
        ),
        (
            "list.md",
            "- item\n\n  ```yaml\n  # a comment\n  ```\n\n# Odd `code` *title* #\n",
        ),
        (
            "none.md",
            "---\ndescription: x\n---\n```\n# only code\n```\n## Two\n",
        ),
        ("open.md", "```\n# the fence never ends\n"),
    ]);
    let title = |name: &str| {
        let entries = notes.list(&Query::new(9)).unwrap().entries;
        entries
            .into_iter()
            .find(|entry| entry.name == name)
            .unwrap()
            .title
    };
    assert_eq!(title("fence").as_deref(), Some("The title"));
    assert_eq!(title("tilde").as_deref(), Some("The title"));
    assert_eq!(title("list").as_deref(), Some("Odd code title"));
    assert_eq!((title("none"), title("open")), (None, None));
}

#[test]
fn embeds_are_links() {
    let (notes, _root) = notes(&[
        (
            "day.md",
            "![[Plan]] ![[plan#Spring|small]] ![roses](in/roses.md) ![[photo.png]] ![a](b.jpg) ![[lost note]]\n```\n![[code]]\n```\n",
        ),
        ("plan.md", "# Plan\n"),
        ("code.md", ""),
        ("in/roses.md", "![web](https://e.org/x.png)\n"),
    ]);
    let links = "# Links in day\n\n- [in/roses](notes:///in/roses)\n- [plan](notes:///plan)\n\
                 - lost note (there is no such note)\n";
    check_read(&notes, "notes://links/day", links);
    check_read(&notes, "notes://links/in/roses", "# Links in in/roses\n\n");
    check_read(
        &notes,
        "notes://backlinks/plan",
        "# Links to plan\n\n- [day](notes:///day)\n",
    );
    check_read(
        &notes,
        "notes://backlinks/in/roses",
        "# Links to in/roses\n\n- [day](notes:///day)\n",
    );
    check_read(&notes, "notes://backlinks/code", "# Links to code\n\n");
}

#[test]
fn lists_tags() {
    let (notes, _root) = notes(NOTES);
    let tags = "# Tags\n\n- [home](notes://tags/home) (1)\n- [idea](notes://tags/idea) (1)\n\
                - [idea/slow](notes://tags/idea/slow) (1)\n";
    check_read(&notes, "notes://tags", tags);
    let idea = "# Notes with the tag idea\n\n- [garden/plan](notes:///garden/plan)\n";
    check_read(&notes, "notes://tags/idea", idea);
    check_read(
        &notes,
        "notes://tags/home",
        "# Notes with the tag home\n\n- [index](notes:///index)\n",
    );
    check_read(&notes, "notes://tags/ide", "not found");
}

#[test]
fn searches_by_rank() {
    let (notes, _root) = notes(NOTES);
    let hits = notes.search(&SearchQuery::new("roses", 10)).unwrap().hits;
    let found: Vec<_> = hits
        .iter()
        .map(|hit| (hit.entry.uri.as_str(), hit.excerpt.as_deref()))
        .collect();
    assert_eq!(found[0].0, "notes:///garden/roses");
    assert!(
        found.contains(&("notes:///garden/plan", Some("plant roses"))),
        "{found:?}"
    );
    assert_eq!(
        notes
            .search(&SearchQuery::new("roses", 1))
            .unwrap()
            .hits
            .len(),
        1
    );
    let map = SearchQuery {
        kind: Some("map".into()),
        ..SearchQuery::new("roses", 10)
    };
    assert_eq!(notes.search(&map).unwrap().hits.len(), 1);
    assert!(
        notes
            .search(&SearchQuery::new("hidden", 10))
            .unwrap()
            .hits
            .is_empty()
    );
}

#[test]
fn a_search_without_time_finds_names_and_says_that_it_is_not_complete() {
    let (notes, _root) = notes(NOTES);
    set_time_left(Duration::ZERO);
    let hits = notes.search(&SearchQuery::new("roses", 10)).unwrap().hits;
    let [hit] = hits.as_slice() else {
        panic!("{hits:?}")
    };
    assert_eq!(hit.entry.uri, "notes:///garden/roses");
    let metadata = &hit.entry.details.as_ref().unwrap().metadata;
    assert!(
        metadata
            .iter()
            .any(|(key, _)| key == "dev.larder.search/incomplete"),
        "{metadata:?}"
    );
    assert!(matches!(
        notes.search(&SearchQuery::new("flowers", 10)),
        Err(Error::Unavailable(_))
    ));
}

#[test]
fn completes_paths_sections_and_tags() {
    let (notes, _root) = notes(NOTES);
    let check = |variable: &str, prefix: &str, page: &str, expected: &[&str]| {
        let request = CompletionRequest {
            uri_template: crate::address::PAGE.into(),
            variable: variable.into(),
            prefix: prefix.into(),
            filled: vec![("page".into(), page.into())],
        };
        assert_eq!(
            notes.complete(&request).unwrap().values,
            expected,
            "{variable} {prefix}"
        );
    };
    check("page", "", "", &["broken", "garden/", "index", "ü ?"]);
    check("page", "garden/p", "", &["garden/plan"]);
    check("page", "../", "", &[]);
    check("page", "/", "", &[]);
    check("page", ".obsidian/", "", &[]);
    check("section", "s", "garden/plan", &["spring"]);
    check("section", "", "../x", &[]);
    check("tag", "idea", "", &["idea", "idea/slow"]);
}

#[test]
fn versions_change_only_with_the_content() {
    let (notes, root) = notes(NOTES);
    let uris = [
        "notes:///garden/plan",
        "notes:///garden/plan?section=spring",
        "notes:///garden/plan?section=autumn",
        "notes://backlinks/index",
        "notes://tags",
        "notes:///none",
    ]
    .map(str::to_owned);
    let before = notes.versions(&uris).unwrap();
    for (uri, version) in uris.iter().zip(&before).take(5) {
        assert_eq!(read(&notes, uri).unwrap().version, *version, "{uri}");
        let known = Request {
            known_version: version.clone(),
            ..Request::new(uri)
        };
        assert_eq!(notes.read(&known).err(), Some(Error::NotModified), "{uri}");
    }
    assert_eq!(before[5], None);
    write(
        root.path(),
        "garden/plan.md",
        NOTES[1].1.replace("roses", "many tulips"),
    );
    let after = notes.versions(&uris).unwrap();
    let changed: Vec<bool> = before
        .iter()
        .zip(&after)
        .map(|(before, after)| before != after)
        .collect();
    assert_eq!(changed, [true, true, false, false, false, false]);
}

#[test]
fn too_many_notes_are_truncated() {
    set_setting("max_notes", "3");
    let (notes, _root) = notes(NOTES);
    assert_eq!(list(&notes, 10).len(), 4);
}

#[test]
fn without_a_folder_nothing_is_offered() {
    let notes = Notes { vault: None };
    assert!(notes.describe().summary.unwrap().contains("add `dirs`"));
    assert!(list(&notes, 9).is_empty() && notes.templates(None).unwrap().templates.is_empty());
    check_read(
        &notes,
        "notes:///x",
        &format!("denied: {}", crate::NO_FOLDER),
    );
}
