//! What operators see of a request beyond the ceiling of a team: in the log, the status, the page and the audit log.

use std::collections::BTreeSet;
use std::fmt;

use serde::Deserialize;
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::administration::admin::AdminClient;
use crate::support::harness::{SLOW_WAIT, component_path, eventually_within};
use crate::support::process::WorkDir;

const CONFIG: &str = "[server]\nteams = ['alpha', 'bravo']\n[server.log]\nformat = 'json'\n\
                      [admin]\nlisten = '127.0.0.1:0'\n[audit]\nfile = 'audit.log'\n\
                      [team.alpha]\nplugins = 'alpha'\napprove = 'always'\n[team.alpha.ceiling]\nenv = ['HOME']\n\
                      [team.bravo]\nplugins = 'bravo'\n";

/// JSON in which each name occurs once in an object. Some readers of logs refuse other JSON.
struct UniqueNames;

impl<'de> Deserialize<'de> for UniqueNames {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for UniqueNames {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self, A::Error> {
        let mut names = BTreeSet::new();
        while let Some((name, _)) = map.next_entry::<String, Self>()? {
            if names.contains(&name) {
                return Err(A::Error::custom(format!("{name} occurs twice")));
            }
            names.insert(name);
        }
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self, A::Error> {
        while items.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }
}

/// A server with two teams that have the same provider.
fn work_dir() -> WorkDir {
    let work_dir = WorkDir::with_guests("").file("larder.toml", CONFIG);
    for team in ["alpha", "bravo"] {
        std::fs::create_dir(work_dir.path(team)).unwrap();
        let component = work_dir.path(&format!("{team}/echo.wasm"));
        std::fs::copy(component_path("echo"), component).unwrap();
    }
    work_dir
}

/// Starts a server whose log is JSON.
fn open(work_dir: &WorkDir) -> AdminClient {
    let args = "serve --listen 127.0.0.1:0 --config larder.toml";
    let mut admin = AdminClient::of(work_dir.start(args));
    let line = admin.process.find_stderr("serving /livez");
    let log: Value = serde_json::from_str(&line).unwrap();
    log["url"].as_str().unwrap().clone_into(&mut admin.url);
    admin.process.wait_for_stderr("\"message\":\"serving\"");
    admin
}

fn audit_lines(work_dir: &WorkDir) -> Vec<Value> {
    let text = std::fs::read_to_string(work_dir.path("audit.log")).unwrap();
    let all = text.lines().map(|line| serde_json::from_str(line).unwrap());
    all.filter(|line: &Value| line["operation"] == "grant-request")
        .collect()
}

#[tokio::test]
async fn a_refused_request_names_its_team_everywhere() {
    let work_dir = work_dir().file("alpha/echo.toml", "env = ['HOME', 'SHELL']\n");
    let mut admin = open(&work_dir);
    let line = admin.process.find_stderr("grant request refused");
    let log: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(log["team"], "alpha", "{line}");
    assert_eq!(log["provider"], "echo", "{line}");
    assert!(
        line.contains("variable SHELL") && !line.contains("HOME"),
        "{line}"
    );
    let status = work_dir.larder(&format!("status --admin {}", admin.url));
    let refused = "refused: echo requests `variable SHELL`, beyond the ceiling of the team";
    assert!(status.stdout.contains(refused), "{}", status.stdout);
    let (_, overview) = admin.get("/api/overview").await;
    let overview: Value = serde_json::from_str(&overview).unwrap();
    let problems = overview["problems"].as_array().unwrap();
    let is_shown = |problem: &&Value| problem["text"].to_string().contains("`variable SHELL`");
    let shown = problems.iter().find(is_shown);
    let shown = shown.unwrap_or_else(|| panic!("{overview}"));
    assert_eq!(shown["provider"], "alpha/echo", "{shown}");
    let (_, events) = admin.get("/api/events").await;
    assert!(
        events.contains("beyond the ceiling of the team"),
        "{events}"
    );
    let audited = audit_lines(&work_dir);
    assert_eq!(audited.len(), 1, "{audited:?}");
    assert_eq!(audited[0]["outcome"], "denied");
    assert_eq!(audited[0]["team"], "alpha");
    assert_eq!(audited[0]["provider"], "echo");
    assert_eq!(audited[0]["details"], serde_json::json!(["variable SHELL"]));
    admin.process.signal("TERM");
    let stderr = admin.process.wait().expect_exit(0);
    for line in stderr.lines().filter(|line| line.starts_with('{')) {
        let parsed = serde_json::from_str::<UniqueNames>(line);
        assert!(parsed.is_ok(), "{:?}: {line}", parsed.err());
    }
}

#[tokio::test]
async fn a_refused_request_is_reported_when_it_changes() {
    let work_dir = work_dir().file("alpha/echo.toml", "env = ['SHELL']\n");
    let admin = open(&work_dir);
    // The grants in effect stay the same, so the same revision is served.
    let work_dir = work_dir.file("alpha/echo.toml", "env = ['SHELL', 'USER']\n");
    eventually_within(SLOW_WAIT, "the second line is refused", async || {
        audit_lines(&work_dir).len() == 2
    })
    .await;
    let details: Vec<_> = audit_lines(&work_dir)
        .iter()
        .map(|line| line["details"].to_string())
        .collect();
    assert_eq!(details, [r#"["variable SHELL"]"#, r#"["variable USER"]"#]);
    let status = || {
        work_dir
            .larder(&format!("status --admin {}", admin.url))
            .stdout
    };
    assert!(
        status().contains("`variable SHELL`, `variable USER`"),
        "{}",
        status()
    );
    std::fs::remove_file(work_dir.path("alpha/echo.toml")).unwrap();
    eventually_within(SLOW_WAIT, "nothing is refused", async || {
        !status().contains("refused: echo")
    })
    .await;
}
