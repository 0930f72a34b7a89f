//! A thousand providers in ten teams.

use std::fmt::Write as _;
use std::time::Duration;

use super::{CONFIG, DataServer, TOKEN};
use crate::support::harness::{SLOW_WAIT, component_path, eventually_within};
use crate::support::process::WorkDir;

const TEAMS: usize = 10;
const PROVIDERS: usize = 100;
/// The most CPU time of the server for a response.
const MAX_CPU_TIME: Duration = Duration::from_secs(5);

#[tokio::test]
async fn responses_take_little_cpu_time_with_a_thousand_providers() {
    let mut config = format!("{CONFIG}{TOKEN}[server]\nteams = ['t0']\n");
    (0..TEAMS).for_each(|n| writeln!(config, "[team.t{n}]\nplugins = 't{n}'").unwrap());
    let work_dir = WorkDir::with_guests("").file("larder.toml", &config);
    std::fs::copy(component_path("nothing"), work_dir.path("one.wasm")).unwrap();
    for team in 0..TEAMS {
        let folder = work_dir.path(&format!("t{team}"));
        std::fs::create_dir(&folder).unwrap();
        for n in 0..PROVIDERS {
            std::fs::hard_link(
                work_dir.path("one.wasm"),
                folder.join(format!("p{n:03}.wasm")),
            )
            .unwrap();
        }
    }
    let server = DataServer::in_folder(work_dir);
    let all = (TEAMS * PROVIDERS) as u64;
    let is_loaded = |overview: &serde_json::Value| overview["providers"]["ready"] == all;
    // Loading so many providers takes long on a slow machine.
    eventually_within(SLOW_WAIT * 4, "all are loaded", async || {
        let is_loaded = is_loaded(&server.json("/api/overview").await);
        if !is_loaded {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        is_loaded
    })
    .await;
    for path in [
        "/api/overview",
        "/api/history",
        "/api/history?provider=t9%2Fp099",
        "/api/providers?limit=500",
        "/api/providers?q=p099",
        "/api/providers/t9%2Fp099",
        "/api/events?limit=500",
        "/api/teams",
    ] {
        let before = server.admin.process.cpu_time();
        let body = server.json(path).await.to_string();
        let used = server.admin.process.cpu_time().saturating_sub(before);
        assert!(used < MAX_CPU_TIME, "{path} took {used:?} of CPU time");
        assert!(body.len() < 1 << 20, "{path}: {} bytes", body.len());
    }
    let mut names = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = server
            .json(&format!(
                "/api/providers?limit=300&cursor={}",
                cursor.replace('/', "%2F")
            ))
            .await;
        names.extend(
            page["items"]
                .as_array()
                .unwrap()
                .iter()
                .map(|item| item["name"].clone()),
        );
        let Some(next) = page["next"].as_str() else {
            break;
        };
        cursor = next.to_owned();
    }
    assert_eq!(names.len() as u64, all, "each is on one page");
}
