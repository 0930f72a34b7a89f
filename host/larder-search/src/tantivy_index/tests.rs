//! Tests with an index on disk.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use tempfile::TempDir;

use super::*;
use larder_model::text_index::Document;

fn provider(name: &str) -> ProviderName {
    ProviderName::parse(name).unwrap()
}

fn uri(name: &str) -> Uri {
    Uri::parse(&format!("doc://{name}")).unwrap()
}

fn document(of: &str, name: &str, text: &str) -> Document {
    Document {
        provider: provider(of),
        uri: uri(name),
        title: format!("Title of {name}"),
        text: Some(text.into()),
        state: "v1".into(),
    }
}

fn put(of: &str, name: &str, text: &str) -> Change {
    Change::Put(document(of, name, text))
}

fn open(folder: &Path) -> TantivyIndex {
    TantivyIndex::new(
        folder.join("team"),
        Limits::default(),
        IndexThread::default(),
    )
}

fn uncharged() -> ChargeTime {
    Box::new(|_| {})
}

async fn found(index: &TantivyIndex, text: &str) -> String {
    let matches = index.search(text, 10, uncharged()).await;
    matches
        .iter()
        .map(|found| found.uri.as_str())
        .collect::<Vec<_>>()
        .join(" ")
}

#[tokio::test]
async fn finds_replaces_and_removes() {
    let folder = TempDir::new().unwrap();
    let index = open(folder.path());
    assert_eq!(
        found(&index, "marmot").await,
        "",
        "nothing is created by a search"
    );
    assert!(!folder.path().join("team").exists());
    index
        .apply(vec![
            put("a", "1", "A marmot\nwhistles."),
            put("b", "2", "Crème brûlée"),
        ])
        .await
        .unwrap();
    let matches = index.search("Marmot", 10, uncharged()).await;
    assert_eq!(matches.len(), 1, "{matches:?}");
    assert_eq!(
        (
            matches[0].provider.as_str(),
            matches[0].title.as_str(),
            matches[0].excerpt.as_str()
        ),
        ("a", "Title of 1", "A marmot whistles.")
    );
    assert_eq!(found(&index, "creme brul").await, "doc://2");
    let total = Usage {
        documents: 1,
        bytes: 18,
    };
    assert_eq!(index.usage()[&provider("a")], total);
    index.apply(vec![put("a", "1", "An otter")]).await.unwrap();
    assert_eq!(
        (found(&index, "marmot").await, found(&index, "otter").await),
        (String::new(), "doc://1".into())
    );
    // The same URI of another provider is another document.
    index
        .apply(vec![put("b", "1", "otter otter")])
        .await
        .unwrap();
    assert_eq!(index.search("otter", 10, uncharged()).await.len(), 2);
    index
        .apply(vec![Change::Remove(provider("a"), uri("1"))])
        .await
        .unwrap();
    assert_eq!(
        index.search("otter", 10, uncharged()).await[0].provider,
        provider("b")
    );
    index
        .apply(vec![Change::RemoveProvider(provider("b"))])
        .await
        .unwrap();
    assert_eq!(
        (
            found(&index, "otter brulee").await.as_str(),
            index.usage().len()
        ),
        ("", 0)
    );
}

#[tokio::test]
async fn a_document_without_text_is_known_and_not_found() {
    let folder = TempDir::new().unwrap();
    let index = open(folder.path());
    let binary = Document {
        text: None,
        ..document("a", "binary", "")
    };
    index
        .apply(vec![Change::Put(binary), put("a", "1", "otter")])
        .await
        .unwrap();
    let known = index.known(&provider("a")).await.unwrap();
    let of = |name| known[&uri(name)].clone();
    assert_eq!(
        of("binary"),
        KnownDocument {
            state: "v1".into(),
            is_searchable: false
        }
    );
    assert_eq!(
        of("1"),
        KnownDocument {
            state: "v1".into(),
            is_searchable: true
        }
    );
    assert_eq!(found(&index, "binary title").await, "doc://1");
    assert!(index.known(&provider("b")).await.unwrap().is_empty());
}

#[tokio::test]
async fn any_text_is_a_query() {
    let folder = TempDir::new().unwrap();
    let index = open(folder.path());
    let texts = ["otter", "東京都", "العربية"].iter().enumerate();
    index
        .apply(
            texts
                .map(|(n, text)| put("a", &n.to_string(), text))
                .collect(),
        )
        .await
        .unwrap();
    for text in [
        "",
        " ",
        "\0",
        "\"",
        "AND",
        "a OR (",
        "*",
        "+-~^:{}[]\\/",
        "text:*",
        "\u{10FFFF}",
        "é".repeat(9_000).as_str(),
        "[* TO *]",
        "otter~99",
        &"a ".repeat(5_000),
        &"(".repeat(5_000),
        "\u{200D}\u{301}\u{FE0F}",
        "😀",
    ] {
        index.search(text, 10, uncharged()).await;
        assert!(!index.0.is_damaged.load(Ordering::Relaxed), "{text}");
    }
    assert_eq!(found(&index, "京").await, "doc://1");
    assert_eq!(found(&index, "العربية").await, "doc://2");
    assert_eq!(index.search("otter", 0, uncharged()).await, []);
    assert_eq!(
        index.search("otter", usize::MAX, uncharged()).await.len(),
        1
    );
}

#[tokio::test]
async fn survives_a_restart_and_many_changes() {
    let folder = TempDir::new().unwrap();
    let index = open(folder.path());
    for n in 0..30 {
        let one = put("a", &n.to_string(), &format!("number{n} otter"));
        index
            .apply(vec![one, put("a", "latest", &format!("latest{n}"))])
            .await
            .unwrap();
    }
    drop(index);
    let index = open(folder.path());
    assert!(index.open_existing().await.unwrap());
    assert_eq!(index.usage()[&provider("a")].documents, 31);
    assert_eq!(found(&index, "number7").await, "doc://7");
    assert_eq!(
        (
            found(&index, "latest3 ").await.as_str(),
            found(&index, "latest29").await.as_str()
        ),
        ("", "doc://latest")
    );
    let files = std::fs::read_dir(folder.path().join("team/index"))
        .unwrap()
        .count();
    assert!(files < 100, "{files} files: segments are not merged");
}

#[tokio::test]
async fn the_limits_hold_and_an_update_within_them_is_stored() {
    let folder = TempDir::new().unwrap();
    let limits = Limits {
        documents: 2,
        bytes: 20,
        document_bytes: 8,
    };
    let index = TantivyIndex::new(folder.path().join("team"), limits, IndexThread::default());
    // Cut between two characters.
    index.apply(vec![put("a", "1", "otters éé")]).await.unwrap();
    assert_eq!(index.usage()[&provider("a")].bytes, 7);
    index.apply(vec![put("a", "2", "marmot")]).await.unwrap();
    assert!(index.is_full());
    let full = index
        .apply(vec![put("a", "3", "lynx"), put("a", "1", "weasel")])
        .await;
    assert!(matches!(full, Err(IndexError::Full { .. })), "{full:?}");
    assert_eq!(
        (
            found(&index, "lynx").await.as_str(),
            found(&index, "weasel").await.as_str()
        ),
        ("", "doc://1")
    );
    index
        .apply(vec![
            Change::Remove(provider("a"), uri("2")),
            put("a", "3", "lynx"),
        ])
        .await
        .unwrap();
    assert_eq!(found(&index, "lynx").await, "doc://3");
}

#[tokio::test]
async fn only_its_user_has_access_to_the_folder() {
    let folder = TempDir::new().unwrap();
    let index = open(folder.path());
    index.apply(vec![put("a", "1", "otter")]).await.unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let team = folder.path().join("team");
    assert_eq!((mode(&team), mode(&team.join("index"))), (0o700, 0o700));
    for file in std::fs::read_dir(team.join("index")).unwrap() {
        assert_eq!(mode(&file.unwrap().path()), 0o600);
    }
    std::fs::set_permissions(&team, std::fs::Permissions::from_mode(0o755)).unwrap();
    let error = open(folder.path()).known(&provider("a")).await.unwrap_err();
    assert!(
        error.to_string().contains("can be read by others"),
        "{error}"
    );
}

#[tokio::test]
async fn a_damaged_index_is_built_again() {
    let folder = TempDir::new().unwrap();
    let files = || {
        std::fs::read_dir(folder.path().join("team/index"))
            .unwrap()
            .map(|file| file.unwrap().path())
    };
    open(folder.path())
        .apply(vec![put("a", "1", &"otter ".repeat(1_000))])
        .await
        .unwrap();
    let names: Vec<_> = files()
        .map(|path| path.extension().map(|name| name.to_owned()))
        .collect();
    for extension in names {
        for is_truncated in [true, false] {
            let index = open(folder.path());
            index
                .apply(vec![put("a", "1", &"otter ".repeat(1_000))])
                .await
                .unwrap();
            drop(index);
            let damaged =
                files().find(|path| path.extension().map(|name| name.to_owned()) == extension);
            let Some(damaged) = damaged else { continue };
            let mut bytes = std::fs::read(&damaged).unwrap();
            let half = bytes.len() / 2;
            if is_truncated {
                bytes.truncate(half);
            } else {
                bytes.iter_mut().skip(half).for_each(|byte| *byte ^= 0x55);
            }
            std::fs::write(&damaged, bytes).unwrap();
            let index = open(folder.path());
            // The search finds a document or none, but does not fail.
            index.search("otter", 10, uncharged()).await;
            let known = index.known(&provider("a")).await;
            let is_lock = damaged
                .file_name()
                .is_some_and(|name| name.to_string_lossy().contains("lock"));
            assert!(
                matches!(known, Err(IndexError::Damaged(_))) || is_lock,
                "{damaged:?}: {known:?}"
            );
            if !is_lock {
                assert!(index.known(&provider("a")).await.unwrap().is_empty());
                index.apply(vec![put("a", "1", "otter")]).await.unwrap();
                assert_eq!(found(&index, "otter").await, "doc://1");
            }
        }
    }
}

#[tokio::test]
async fn another_version_is_built_again() {
    let folder = TempDir::new().unwrap();
    open(folder.path())
        .apply(vec![put("a", "1", "otter")])
        .await
        .unwrap();
    std::fs::write(folder.path().join("team/format"), "larder 0 tantivy 0\n").unwrap();
    let index = open(folder.path());
    assert_eq!(found(&index, "otter").await, "");
    assert!(index.known(&provider("a")).await.unwrap().is_empty());
    assert!(index.open_existing().await.unwrap());
}

#[tokio::test]
async fn a_second_process_can_search_but_not_change() {
    let folder = TempDir::new().unwrap();
    let first = open(folder.path());
    let second = open(folder.path());
    first.apply(vec![put("a", "1", "otter")]).await.unwrap();
    assert_eq!(found(&second, "otter").await, "doc://1");
    let refused = second.apply(vec![put("a", "2", "otter")]).await;
    assert!(matches!(refused, Err(IndexError::InUse(_))), "{refused:?}");
    first.apply(vec![put("a", "2", "lynx")]).await.unwrap();
    assert_eq!(found(&second, "lynx").await, "doc://2");
    drop(first);
    second.apply(vec![put("a", "3", "weasel")]).await.unwrap();
    assert_eq!(found(&second, "weasel").await, "doc://3");
}

#[tokio::test]
async fn a_folder_that_cannot_be_used_is_an_error() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("team"), "a file").unwrap();
    let index = open(folder.path());
    let error = index.apply(vec![put("a", "1", "otter")]).await.unwrap_err();
    assert!(matches!(error, IndexError::Folder { .. }), "{error}");
    assert_eq!(found(&index, "otter").await, "");
}
