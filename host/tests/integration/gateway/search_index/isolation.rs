//! The results of a caller: they contain nothing that belongs to another caller or another team.

use super::*;
use larder_model::name::Digest;

#[tokio::test]
async fn what_needs_a_caller_is_not_indexed() {
    let server = IndexedServer::start(&config(
        "write",
        "settings = { versions = true, private = true }",
    ));
    server.indexed(3).await;
    assert_eq!(server.reads(), ["a", "b", "c", "denied", "own"]);
    assert_eq!(server.found("confidential").await, "");
    assert_eq!(server.found("marmot").await, "indexed://a");
}

#[tokio::test]
async fn a_list_that_depends_on_the_caller_is_not_indexed() {
    let work_dir = WorkDir::with_guests("personal");
    let work_dir = work_dir.file(
        "larder.toml",
        &format!("{ADMIN}[provider.personal]\nindex = true\n"),
    );
    let server = IndexedServer::run(work_dir);
    let is_refused = |index: &Value| {
        index["error"]
            .as_str()
            .is_some_and(|error| error.contains("depends on the caller"))
    };
    server.index_where("the reason is shown", is_refused).await;
    assert_eq!(server.index().await["documents"], 0);
}

#[tokio::test]
async fn teams_do_not_find_what_others_have() {
    let mut config = ADMIN.to_owned();
    for team in ["one", "two"] {
        let digest = Digest::of(team.as_bytes());
        config += &format!(
            "[[auth.tokens]]\nname = '{team}'\ndigest = 'sha256:{digest}'\nteams = ['{team}']\n\
             [team.{team}]\nplugins = '{team}'\n[team.{team}.ceiling]\ndirs = [{{ host = '{team}-docs', access = 'write' }}, \
             {{ host = 'log', access = 'write' }}]\n[team.{team}.provider.indexed]\nindex = true\n\
             dirs = [{{ host = '{team}-docs', guest = '/docs', access = 'write' }}, {{ host = 'log', access = 'write' }}]\n"
        );
    }
    let work_dir = WorkDir::with_guests("indexed").file("larder.toml", &config);
    fs::create_dir(work_dir.path("log")).unwrap();
    for team in ["one", "two"] {
        fs::create_dir(work_dir.path(team)).unwrap();
        fs::create_dir(work_dir.path(&format!("{team}-docs"))).unwrap();
        fs::copy(
            work_dir.path("plugins/indexed.wasm"),
            work_dir.path(&format!("{team}/indexed.wasm")),
        )
        .unwrap();
        fs::write(
            work_dir.path(&format!("{team}-docs/{team}")),
            format!("A marmot of {team}"),
        )
        .unwrap();
    }
    let server = IndexedServer::run(work_dir);
    let are_indexed = async || {
        let status = server.status().await;
        let teams = status["teams"].as_array().unwrap();
        teams
            .iter()
            .all(|team| team["providers"][0]["index"]["documents"] == 1)
    };
    eventually_within(SLOW_WAIT, "both are indexed", are_indexed).await;
    for team in ["one", "two"] {
        assert_eq!(
            found(&server.url, Some(team), "marmot").await,
            format!("indexed://{team}")
        );
    }
    // The text of a team that is removed is deleted.
    let all = config.find("[team.two]").unwrap();
    let without = config[..all].replace(
        "[[auth.tokens]]\nname = 'two'",
        "[[auth.tokens]]\nname = 'one-too'",
    );
    let without = without.replace("teams = ['two']", "teams = ['one']");
    fs::write(server.work_dir.path("larder.toml"), without).unwrap();
    let stored = |team: &str| texts(&server.work_dir, team);
    eventually_within(SLOW_WAIT, "the text is deleted", async || {
        stored("two") == 0
    })
    .await;
    assert_eq!(stored("one"), 1);
}

/// The number of files with the texts of a team.
fn texts(work_dir: &WorkDir, team: &str) -> usize {
    let servers = fs::read_dir(work_dir.path("state/larder/search")).unwrap();
    let folders = servers.map(|server| server.unwrap().path().join(team).join("index"));
    let files = folders
        .filter(|folder| folder.is_dir())
        .flat_map(|folder| fs::read_dir(folder).unwrap());
    files
        .filter(|file| {
            file.as_ref()
                .unwrap()
                .path()
                .extension()
                .is_some_and(|name| name == "store")
        })
        .count()
}
