//! The quotas and the callers of teams.

use serde_json::Value;

use super::DataServer;
use crate::support::harness::component_path;
use crate::support::process::WorkDir;

const TEAMS: &str = "
[[auth.tokens]]
name = 'ann'
digest = 'DIGEST1'
teams = ['alpha']
[[auth.tokens]]
name = 'bob'
digest = 'DIGEST2'
teams = ['alpha', 'beta']
[team.alpha]
plugins = 'alpha'
[team.alpha.quota]
requests = 70
providers = 5
[team.beta]
plugins = 'beta'
";

#[tokio::test]
async fn shows_quotas_and_callers_but_no_tokens() {
    let digest = |text: &str| format!("sha256:{}", larder_model::name::Digest::of(text.as_bytes()));
    let (ann, bob) = (
        "larder-ann-0123456789-0123456789",
        "larder-bob-0123456789-0123456789",
    );
    let teams = TEAMS
        .replace("DIGEST1", &digest(ann))
        .replace("DIGEST2", &digest(bob));
    let config = format!("{}{}{teams}", super::CONFIG, super::TOKEN);
    let work_dir = WorkDir::with_guests("").file("larder.toml", &config);
    for team in ["alpha", "beta"] {
        std::fs::create_dir(work_dir.path(team)).unwrap();
        std::fs::copy(
            component_path("echo"),
            work_dir.path(team).join("wiki.wasm"),
        )
        .unwrap();
    }
    let server = DataServer::in_folder(work_dir);
    for (token, uri) in [
        (ann, "echo://hello"),
        (ann, "echo://blob"),
        (bob, "echo://hello"),
    ] {
        let read = server.work_dir.start_with(
            &[("LARDER_TOKEN", token)],
            &format!("read {uri} --url {}", server.url),
        );
        read.wait().expect_success();
    }
    let teams = server.json("/api/teams").await;
    let [alpha, beta] = [0, 1].map(|at| &teams["items"][at]);
    assert_eq!(
        (&alpha["name"], &beta["name"]),
        (&"alpha".into(), &"beta".into())
    );
    assert_eq!(alpha["providers"], 1);
    let quota = |team: &Value, name: &str| {
        let quotas = team["quotas"].as_array().unwrap();
        quotas.iter().find(|quota| quota["name"] == name).unwrap()["limit"]
            .as_f64()
            .unwrap()
    };
    assert_eq!(
        (quota(alpha, "requests"), quota(alpha, "providers")),
        (70.0, 5.0)
    );
    let callers = |team: &Value| -> Vec<(String, u64)> {
        let callers = team["callers"].as_array().unwrap().iter();
        callers
            .map(|one| {
                (
                    one["subject"].as_str().unwrap().to_owned(),
                    one["calls"].as_u64().unwrap(),
                )
            })
            .collect()
    };
    let of_alpha = callers(alpha);
    assert_eq!(
        of_alpha
            .iter()
            .map(|(subject, _)| subject.as_str())
            .collect::<Vec<_>>(),
        ["ann", "bob"]
    );
    assert!(
        of_alpha[0].1 > of_alpha[1].1,
        "the largest first: {of_alpha:?}"
    );
    assert_eq!(callers(beta), of_alpha[1..]);
    assert!(alpha["callers"][0]["bytes"].as_u64().unwrap() > 100);
    assert!(!teams.to_string().contains("larder-ann"), "{teams}");
    let name = &server.items("/api/providers?team=beta").await[0];
    assert_eq!(
        (&name["name"], &name["team"]),
        (&"beta/wiki".into(), &"beta".into())
    );
    assert_eq!(
        server.json("/api/providers/beta%2Fwiki").await["team"],
        "beta"
    );
    let events = server.items("/api/events?team=beta&kind=load").await;
    assert_eq!(events[0]["provider"], "beta/wiki");
}

#[tokio::test]
async fn without_teams_there_is_one_and_callers_have_no_subject() {
    let server = DataServer::start("echo", "");
    server.read("echo://hello").expect_success();
    let teams = server.items("/api/teams").await;
    assert_eq!((teams.len(), &teams[0]["name"]), (1, &"default".into()));
    let callers = teams[0]["callers"].as_array().unwrap();
    assert_eq!(
        (callers.len(), callers[0]["subject"].is_string()),
        (1, false),
        "{callers:?}"
    );
    assert!(callers[0]["calls"].as_u64().unwrap() >= 1);
}
