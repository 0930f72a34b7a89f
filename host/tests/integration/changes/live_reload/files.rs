//! Each way in which a file in the plugins folder can be added, changed, and removed.

use std::fs;
use std::io::Write as _;
use std::time::{Duration, Instant, SystemTime};

use super::{component_file, start_running, start_with_first_revision};
use crate::support::harness::{SLOW_WAIT, TestServer, eventually_within};
use crate::support::revision::{NOW, number, revision, text};

#[tokio::test]
async fn serves_a_new_file() {
    let server = start_running(TestServer::builder("echo")).await;
    assert_eq!(
        server.text(NOW).await,
        format!("error: no resource at `{NOW}`")
    );
    fs::write(component_file(&server), revision(1)).unwrap();
    server.wait_for_revision(1).await;
    assert!(
        server
            .uris()
            .await
            .contains(&format!("revision://only/{}", text(1)))
    );
    assert!(
        server
            .text("echo://hello")
            .await
            .starts_with("uri: echo://hello\n")
    );
}

#[tokio::test]
async fn reloads_an_overwritten_file() {
    let server = start_with_first_revision().await;
    server
        .only_revisions_answer(&[1, 2], async {
            fs::write(component_file(&server), revision(2)).unwrap();
            server.wait_for_revision(2).await;
        })
        .await;
    let only: Vec<_> = server
        .uris()
        .await
        .into_iter()
        .filter(|uri| uri.starts_with("revision://only/"))
        .collect();
    assert_eq!(only, [format!("revision://only/{}", text(2))]);
}

#[tokio::test]
async fn reloads_a_file_replaced_by_a_rename() {
    let server = start_with_first_revision().await;
    let elsewhere = tempfile::TempDir::new().unwrap();
    let same_folder = [
        server.plugins.join("revision.new"),
        server.plugins.join("other.wasm~"),
    ];
    let sources = same_folder
        .into_iter()
        .chain([elsewhere.path().join("revision.wasm")]);
    for (source, number) in sources.zip(2..) {
        let change = async {
            fs::write(&source, revision(number)).unwrap();
            fs::rename(&source, component_file(&server)).unwrap();
            server.wait_for_revision(number).await;
        };
        server
            .only_revisions_answer(&[number - 1, number], change)
            .await;
    }
}

#[tokio::test]
async fn a_component_that_is_replaced_all_the_time_is_loaded_now_and_then() {
    let server = start_with_first_revision().await;
    let new = server.folder.path().join("new");
    let began = Instant::now();
    // No file was compiled in an earlier run.
    let mut last = SystemTime::UNIX_EPOCH.elapsed().unwrap().subsec_nanos() % 90_000_000 + 2;
    while number(&server.text(NOW).await) == 1 {
        assert!(began.elapsed() < SLOW_WAIT, "none was loaded");
        last += 1;
        fs::write(&new, revision(last)).unwrap();
        fs::rename(&new, component_file(&server)).unwrap();
        // This is less than the time to load the component.
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
    server.wait_for_revision(last).await;
}

#[tokio::test]
async fn takes_a_renamed_file_at_once_and_a_written_one_once_it_is_stable() {
    let mut server = TestServer::builder("")
        .file("revision.wasm", &revision(1))
        .start()
        .await;
    let components = server.reconciler().components();
    server.run_reconciler();
    let phases = || {
        let newest = components.reports()[0]
            .revisions
            .back()
            .cloned()
            .expect("no revision");
        newest.phases.expect("it was loaded")
    };
    let new = server.folder.path().join("new");
    let mut settling = Vec::new();
    for number in 2..12 {
        fs::write(&new, revision(number)).unwrap();
        fs::rename(&new, component_file(&server)).unwrap();
        server.wait_for_revision(number).await;
        settling.push(phases().settling);
    }
    // If the folder is scanned at the moment of an event, the event is lost. Then the file must stay the same.
    assert!(settling.contains(&Duration::ZERO), "{settling:?}");
    // The code of this component is not in the cache.
    let nanos = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .subsec_nanos();
    let last = 10_000_000 + nanos % 80_000_000;
    fs::write(component_file(&server), revision(last)).unwrap();
    server.wait_for_revision(last).await;
    let written = phases();
    assert!(
        written.settling >= larder_core::source::SETTLE_TIME,
        "{written}"
    );
    // All phases are measured.
    let compiling = written.compiling;
    assert!(
        written.detection > Duration::ZERO && written.probing > Duration::ZERO,
        "{written}"
    );
    assert!(
        written.compiled_in >= compiling.compile && compiling.compile > Duration::ZERO,
        "{written}"
    );
}

#[tokio::test]
async fn renaming_a_file_renames_its_provider() {
    let server = start_with_first_revision().await;
    fs::rename(component_file(&server), server.plugins.join("other.wasm")).unwrap();
    let names = || -> Vec<String> {
        server
            .reader
            .snapshot()
            .offers()
            .iter()
            .map(|offer| offer.name().to_string())
            .collect()
    };
    eventually_within(SLOW_WAIT, "the provider is renamed", async || {
        names() == ["other"]
    })
    .await;
    assert_eq!(server.text(NOW).await, text(1));
}

#[tokio::test]
async fn reloads_a_slowly_overwritten_file_once_it_is_complete() {
    let server = start_with_first_revision().await;
    let bytes = revision(2);
    let change = async {
        let mut file = fs::File::create(component_file(&server)).unwrap();
        for piece in bytes.chunks(bytes.len().div_ceil(8)) {
            tokio::time::sleep(Duration::from_millis(50)).await;
            file.write_all(piece).unwrap();
        }
        server.wait_for_revision(2).await;
    };
    server.only_revisions_answer(&[1, 2], change).await;
    eventually_within(SLOW_WAIT, "nothing is rejected", async || {
        server.reader.snapshot().rejected().is_empty()
    })
    .await;
}

#[tokio::test]
async fn serves_a_slowly_written_new_file_once_it_is_complete() {
    let server = start_running(TestServer::builder("echo")).await;
    let mut file = fs::File::create(component_file(&server)).unwrap();
    for piece in revision(1).chunks(8 << 10) {
        tokio::time::sleep(Duration::from_millis(50)).await;
        file.write_all(piece).unwrap();
    }
    server.wait_for_revision(1).await;
    eventually_within(SLOW_WAIT, "nothing is rejected", async || {
        server.reader.snapshot().rejected().is_empty()
    })
    .await;
}

#[tokio::test]
async fn removing_a_file_removes_its_provider() {
    let server =
        start_running(TestServer::builder("echo").file("revision.wasm", &revision(1))).await;
    assert_eq!(server.text(NOW).await, text(1));
    fs::remove_file(component_file(&server)).unwrap();
    let gone = format!("error: no resource at `{NOW}`");
    eventually_within(SLOW_WAIT, "the provider is removed", async || {
        server.text(NOW).await == gone
    })
    .await;
    assert!(
        server
            .uris()
            .await
            .iter()
            .all(|uri| uri.starts_with("echo:"))
    );
}

#[tokio::test]
async fn serves_a_file_that_was_removed_and_recreated() {
    let server = start_with_first_revision().await;
    for number in 2..12 {
        fs::remove_file(component_file(&server)).unwrap();
        tokio::task::yield_now().await;
        fs::write(component_file(&server), revision(number)).unwrap();
    }
    server.wait_for_revision(11).await;
    // A file with the same content as before is served again as well.
    fs::remove_file(component_file(&server)).unwrap();
    fs::write(component_file(&server), revision(11)).unwrap();
    fs::write(
        server.plugins.join("echo.wasm"),
        fs::read(crate::support::harness::component_path("echo")).unwrap(),
    )
    .unwrap();
    eventually_within(SLOW_WAIT, "a later file is served", async || {
        !server.text("echo://hello").await.starts_with("error")
    })
    .await;
    server.wait_for_revision(11).await;
}

#[tokio::test]
async fn serves_and_removes_fifty_files_at_once() {
    let server = start_running(TestServer::builder("echo")).await;
    let path = |number| server.plugins.join(format!("revision-{number}.wasm"));
    for number in 1..=50 {
        fs::write(path(number), revision(number)).unwrap();
    }
    let own = |number| format!("revision://only/{}", text(number));
    // Each component is compiled, which takes long on a busy machine.
    eventually_within(SLOW_WAIT * 5, "all of them are served", async || {
        let uris = server.uris().await;
        (1..=50).all(|number| uris.contains(&own(number)))
    })
    .await;
    for number in 1..=50 {
        assert_eq!(server.text(&own(number)).await, text(number));
    }
    assert!((1..=50).contains(&number(&server.text(NOW).await)));
    (1..=50).for_each(|number| fs::remove_file(path(number)).unwrap());
    eventually_within(SLOW_WAIT, "all of them are removed", async || {
        server.reader.snapshot().offers().len() == 1
    })
    .await;
}
