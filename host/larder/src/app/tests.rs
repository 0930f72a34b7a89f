//! What operators see of a running server.

use std::time::Duration;

use super::*;
use larder_config::{Overrides, parse_listen_address, without_file};

async fn get(address: &str, path: &str) -> reqwest::Response {
    reqwest::get(format!("http://{address}{path}"))
        .await
        .unwrap()
}

#[tokio::test]
async fn a_task_that_panics_is_shown_to_operators() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = without_file(folder.path(), &Overrides::default()).unwrap();
    config.state_dir = folder.path().join("state");
    let listener = Listener::bind(&parse_listen_address("127.0.0.1:0").unwrap())
        .await
        .unwrap();
    let address = listener.address().unwrap().url("").replace("http://", "");
    let app = App::build_with_admin(config, Some(listener), Box::new(|_| ()))
        .await
        .unwrap();
    assert_eq!(get(&address, "/readyz").await.status(), 200);
    assert!(
        get(&address, "/metrics")
            .await
            .text()
            .await
            .unwrap()
            .contains("larder_task_panics_total 0\n")
    );

    let task = SupervisedTask::new("pulls of a test", Impact::OneTeam);
    app.drain
        .supervise_restarting(task, || async { panic!("on purpose") });
    let is_shown = || {
        app.problems()
            .iter()
            .any(|problem| problem.contains("\"pulls of a test\""))
    };
    while !is_shown() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(
        get(&address, "/readyz").await.status(),
        503,
        "nothing is served"
    );
    let status = get(&address, "/status").await.text().await.unwrap();
    assert!(status.contains("pulls of a test"), "{status}");
    let problems = get(&address, "/api/overview").await.text().await.unwrap();
    assert!(problems.contains("pulls of a test"), "{problems}");
    let metrics = get(&address, "/metrics").await.text().await.unwrap();
    assert!(
        !metrics.contains("larder_task_panics_total 0\n"),
        "{metrics}"
    );
    app.finish().await;
}
