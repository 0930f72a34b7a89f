//! Teams take turns at compiling, also within a compilation.

use std::sync::Arc;

use bytes::Bytes;
use larder_model::name::TeamName;

use super::{TestCompiler, echo, slow_to_compile, wait_for_exit};
use crate::support::harness::{SLOW_WAIT, eventually_within};

/// Whether a process is stopped by a signal.
fn is_paused(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ")
        .is_some_and(|(_, fields)| fields.starts_with('T'))
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_compilation_is_paused_when_another_team_waits() {
    let test = TestCompiler::new();
    let sandbox =
        Arc::new(test.sandbox(|config| config.program = test.compiler("hangs-for-large")));
    let pids = || -> Vec<String> {
        let all = std::fs::read_to_string(test.folder.path().join("pids")).unwrap_or_default();
        all.lines().map(ToOwned::to_owned).collect()
    };
    let compile = |team: &str, component: Bytes| {
        let (sandbox, team) = (sandbox.clone(), TeamName::parse(team).unwrap());
        test.drain
            .spawn(async move { sandbox.compile(&team, component).await.is_ok() })
    };
    let _first = compile("busy", slow_to_compile());
    eventually_within(SLOW_WAIT, "the first compilation runs", async || {
        pids().len() == 1
    })
    .await;
    let _queued = compile(
        "busy",
        Bytes::from([slow_to_compile(), Bytes::from_static(&[0, 1, 0])].concat()),
    );
    // The first compilation does not end.
    let small = tokio::time::timeout(SLOW_WAIT, compile("quiet", echo())).await;
    assert_eq!(
        small.expect("it waits for the other team").unwrap(),
        Some(true)
    );
    let _second = compile("other", slow_to_compile());
    let alternate = async |paused: usize, runs: usize| {
        eventually_within(SLOW_WAIT, "the other one has its turn", async || {
            let pids = pids();
            pids.len() == 2 && is_paused(&pids[paused]) && !is_paused(&pids[runs])
        })
        .await;
    };
    alternate(0, 1).await;
    alternate(1, 0).await;
    // A paused process is ended as well.
    test.drain.finish(std::time::Duration::ZERO).await;
    for pid in pids() {
        wait_for_exit(&pid).await;
    }
}
