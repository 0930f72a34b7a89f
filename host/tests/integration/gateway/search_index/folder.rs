//! The folder of the index: damage, and a folder that cannot be used.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::*;

/// The files of the index with this extension.
fn files(work_dir: &WorkDir, extension: &str) -> Vec<PathBuf> {
    fn below(folder: &Path) -> Vec<PathBuf> {
        let items = fs::read_dir(folder)
            .unwrap()
            .map(|item| item.unwrap().path());
        items
            .flat_map(|path| {
                if path.is_dir() {
                    below(&path)
                } else {
                    vec![path]
                }
            })
            .collect()
    }
    let mut files = below(&work_dir.path("state/larder/search"));
    files.retain(|file| file.extension().is_some_and(|found| found == extension));
    files
}

#[tokio::test]
async fn a_damaged_index_is_built_again() {
    let server = IndexedServer::start(&config("write", "settings = { versions = true }"));
    server.indexed(3).await;
    let server = server.restart("KILL", |work_dir| {
        let stores = files(work_dir, "store");
        assert!(!stores.is_empty());
        stores
            .iter()
            .for_each(|file| fs::write(file, "damaged").unwrap());
    });
    let mut server = server;
    server
        .admin
        .process
        .find_stderr("the full-text index is damaged and is built again");
    server.indexed(3).await;
    assert_eq!(server.found("marmot").await, "indexed://a");
    assert_eq!(server.reads().len(), 6, "everything is read again");
}

#[tokio::test]
async fn a_folder_that_cannot_be_used_is_a_problem_in_the_status() {
    let work_dir = WorkDir::with_guests("indexed").file("larder.toml", &config("write", ""));
    for folder in ["docs", "log", "state", "state/larder"] {
        fs::create_dir(work_dir.path(folder)).unwrap();
    }
    fs::write(work_dir.path("docs/marmots"), "An alpine animal").unwrap();
    fs::write(
        work_dir.path("state/larder/search"),
        "a file in place of the folder",
    )
    .unwrap();
    let server = IndexedServer::run(work_dir);
    let problem = async || {
        let status = server.status().await;
        let mut problems = status["problems"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(Value::as_str);
        problems.any(|problem| {
            problem.contains("cannot use the folder") && problem.contains("/state/larder/search/")
        })
    };
    eventually_within(SLOW_WAIT, "the problem is in the status", problem).await;
    assert!(
        server.index().await["error"]
            .as_str()
            .unwrap()
            .contains("cannot use the folder")
    );
    assert_eq!(
        server.found("marmots").await,
        "indexed://marmots",
        "the list is searched without the index"
    );
    assert_eq!(server.found("alpine").await, "");
    assert!(
        server.reads().is_empty(),
        "nothing is read that cannot be stored"
    );
    // The index is built as soon as the folder can be used.
    fs::remove_file(server.work_dir.path("state/larder/search")).unwrap();
    server.indexed(1).await;
    assert_eq!(server.found("alpine").await, "indexed://marmots");
}

/// A text of this size with different words.
fn long_text(bytes: usize) -> String {
    let mut state = 1_u64;
    let mut text = String::new();
    while text.len() < bytes {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        text += &format!("{:x} ", state >> 20);
    }
    text
}

/// A limit of the size of a file replaces a full disk: in both cases, a write fails in the middle.
#[tokio::test]
async fn a_full_disk_is_a_problem_in_the_status() {
    // The server first starts without the key, so that the component is compiled without the limit.
    let server = IndexedServer::start(&config("write", "").replace("index = true", ""));
    let IndexedServer {
        work_dir, admin, ..
    } = server;
    admin.process.signal("TERM");
    admin.process.wait();
    let work_dir = work_dir.file("larder.toml", &config("write", ""));
    fs::write(work_dir.path("docs/long"), long_text(900_000)).unwrap();
    let (admin, url) = AdminClient::open_with(&work_dir, |own| {
        let mut limited = Command::new("bash");
        limited.args(["-c", "trap '' XFSZ; ulimit -f 200; exec \"$0\" \"$@\""]);
        limited.arg(own.get_program()).args(own.get_args());
        limited
    });
    let server = IndexedServer {
        work_dir,
        admin,
        url,
    };
    let is_reported = |index: &Value| {
        index["error"]
            .as_str()
            .is_some_and(|error| error.contains("File too large"))
    };
    server
        .index_where("the problem is in the status", is_reported)
        .await;
    assert_eq!(
        server.found("long").await,
        "indexed://long",
        "the list is searched without the index"
    );
    let server = server.restart("TERM", |_| {});
    server.indexed(4).await;
    assert_eq!(server.found("marmot").await, "indexed://a");
    assert!(server.index().await["error"].is_null());
}
