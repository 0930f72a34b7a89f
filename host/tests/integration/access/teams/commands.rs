//! Teams in the form in which an operator uses them: one configuration and the real binary.

use std::fs;

use crate::support::harness::component_path;
use crate::support::process::{WorkDir, http_client};

const TWO_TEAMS: &str = "
[stdio]
subject = 'me'
teams = ['alpha', 'beta']
[secret.token]
file = 'token'
[team.alpha]
plugins = 'alpha'
[team.alpha.ceiling]
secrets = ['token']
env = ['HOME']
[team.alpha.provider.wiki]
settings = { colour = 'blue' }
secrets = ['token']
[team.beta]
plugins = 'beta'
[team.beta.provider.wiki]
settings = { colour = 'red' }
";

fn two_teams() -> WorkDir {
    let work_dir = WorkDir::with_guests("")
        .file("two.toml", TWO_TEAMS)
        .file("token", "hush-hush-hush\n");
    for team in ["alpha", "beta"] {
        fs::create_dir(work_dir.path(team)).unwrap();
        fs::copy(
            component_path("echo"),
            work_dir.path(team).join("wiki.wasm"),
        )
        .unwrap();
    }
    work_dir
}

#[test]
fn a_command_runs_for_one_team() {
    let work_dir = two_teams();
    let read = |args: &str| work_dir.larder(&format!("read --in-process --config two.toml {args}"));
    assert_eq!(
        read("--team alpha echo://setting/colour").expect_success(),
        "blue"
    );
    assert_eq!(
        read("--team beta echo://setting/colour").expect_success(),
        "red"
    );
    assert!(
        read("echo://hello")
            .expect_success()
            .contains("caller: me of alpha")
    );
    assert!(
        read("--team gamma echo://hello")
            .expect_exit(64)
            .contains("--team: there is no team gamma")
    );
    assert!(
        work_dir
            .larder("serve --config two.toml --listen 127.0.0.1:0")
            .expect_exit(64)
            .contains("server.teams: there are several")
    );
    assert!(
        work_dir
            .larder("list --plugins alpha")
            .expect_success()
            .contains("echo://hello")
    );
}

#[test]
fn collisions_between_teams_with_common_callers_are_reported() {
    let work_dir = two_teams();
    let both = format!(
        "{TWO_TEAMS}[server]\nteams = ['beta', 'alpha']\n[admin]\nlisten = '127.0.0.1:0'\n"
    );
    fs::write(work_dir.path("two.toml"), both).unwrap();
    let mut server = work_dir.start("serve --listen 127.0.0.1:0 --config two.toml");
    let line = server.wait_for_stderr("serving /livez");
    let admin = line.trim().rsplit("url=").next().unwrap().to_owned();
    let line = server.wait_for_stderr("serves http://");
    let url = line
        .split_whitespace()
        .find(|word| word.starts_with("http://"))
        .unwrap();
    // One notice for each order of a caller: the order of [stdio], and the order of [server].
    let why = "do not see it, because";
    let stdio = server.wait_for_stderr(&format!(
        "callers of `alpha` and `beta` {why} `alpha` covers it"
    ));
    let http = server.wait_for_stderr(&format!(
        "callers of `beta` and `alpha` {why} `beta` covers it"
    ));
    assert!(
        stdio.contains("of `beta/wiki`") && http.contains("of `alpha/wiki`"),
        "{stdio}{http}"
    );
    let status = work_dir.larder(&format!("status --admin {admin}")).stdout;
    let notice = status
        .lines()
        .find(|line| line.trim_start().starts_with("notice: "))
        .unwrap_or_default();
    assert!(notice.contains("callers of `beta` and `alpha`"), "{status}");
    assert!(!status.contains("problem: "), "{status}");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let get = http_client().get(format!("{admin}/metrics")).send();
    let metrics = runtime.block_on(async { get.await.unwrap().text().await.unwrap() });
    assert!(
        metrics.contains("larder_problems{impact=\"notice\"} 1\n"),
        "{metrics}"
    );
    assert!(
        metrics.contains("larder_problems{impact=\"operator-only\"} 0\n"),
        "{metrics}"
    );
    assert!(
        work_dir
            .larder(&format!("read echo://hello --url {url}"))
            .expect_success()
            .contains("of beta")
    );
    server.signal("KILL");
}

#[test]
fn links_into_the_folder_of_another_team_are_not_followed() {
    use std::os::unix::fs::symlink;
    let work_dir = two_teams();
    let beta = work_dir.path("beta");
    // A component and a grant request of the other team.
    fs::rename(beta.join("wiki.wasm"), work_dir.path("wiki.wasm")).unwrap();
    fs::write(
        work_dir.path("alpha/wiki.toml"),
        "settings = { word = 'hush' }",
    )
    .unwrap();
    symlink("../alpha/wiki.wasm", beta.join("stolen.wasm")).unwrap();
    fs::copy(work_dir.path("wiki.wasm"), beta.join("own.wasm")).unwrap();
    symlink("../alpha/wiki.toml", beta.join("own.toml")).unwrap();
    let read = |uri: &str| work_dir.larder(&format!("read --config two.toml --team beta {uri}"));
    assert_eq!(read("echo://setting/word").expect_success(), "unset");
    let check = work_dir.larder("check --config two.toml");
    let output = check.stdout + &check.stderr;
    assert!(
        output.contains("own.toml") && output.contains("leads out of the folder of its team"),
        "{output}"
    );
    assert!(!output.contains("beta/stolen"), "{output}");

    // Links below the folder are followed: Kubernetes mounts a ConfigMap like this.
    fs::remove_file(beta.join("own.toml")).unwrap();
    fs::remove_file(beta.join("stolen.wasm")).unwrap();
    fs::create_dir(beta.join("..data")).unwrap();
    fs::rename(beta.join("own.wasm"), beta.join("..data/own.wasm")).unwrap();
    symlink("..data/own.wasm", beta.join("own.wasm")).unwrap();
    assert!(read("echo://hello").expect_success().contains("of beta"));
}

#[test]
fn a_slow_provider_delays_no_other_team() {
    let slow = "[server]\nteams = ['beta']\n[team.alpha.provider.wiki]\n\
                settings = { in = 'describe' }\nlimits = { timeout = '1h' }\n[team.alpha]\nplugins = 'alpha'\n\
                [team.beta]\nplugins = 'beta'\n";
    let work_dir = two_teams();
    fs::write(work_dir.path("two.toml"), slow).unwrap();
    fs::copy(component_path("echo"), work_dir.path("alpha/quick.wasm")).unwrap();
    fs::copy(component_path("sleep"), work_dir.path("alpha/wiki.wasm")).unwrap();
    // The provider of alpha never finishes loading, so a start that waits for it would not end either.
    let (mut server, url) = work_dir.serve("--config two.toml");
    server.find_stderr("team alpha: not loaded yet: ");
    // The provider of beta may have to be compiled first. On a busy machine that takes longer than the start
    // waits.
    let began = std::time::Instant::now();
    let response = loop {
        let output = work_dir.larder(&format!("read echo://hello --url {url}"));
        if output.code == Some(0) || began.elapsed() > std::time::Duration::from_secs(60) {
            break output.expect_success();
        }
    };
    assert!(response.contains("of beta"), "{response}");
    server.signal("KILL");
}

#[test]
fn a_secret_reaches_only_the_provider_that_was_granted_it() {
    let work_dir = two_teams();
    let read = |args: &str| work_dir.larder(&format!("read --in-process --config two.toml {args}"));
    assert_eq!(
        read("--team alpha echo://setting/token").expect_success(),
        "hush-hush-hush"
    );
    assert_eq!(
        read("--team beta echo://setting/token").expect_success(),
        "unset"
    );
    let check = work_dir.larder("check --config two.toml --json");
    assert!(
        check.stdout.contains("secret token") && !check.stdout.contains("hush-hush-hush"),
        "{}",
        check.stdout
    );
    // The provider discloses the secret in an error and in its log, where the secret is redacted.
    let error = read("--team alpha echo://error/secret").expect_exit(1);
    assert!(
        error.contains("because of [secret]") && !error.contains("hush-hush"),
        "{error}"
    );
    let text = fs::read_to_string(work_dir.path("two.toml")).unwrap();
    fs::write(
        work_dir.path("two.toml"),
        text + "[server]\nteams = ['alpha']\nlog = { filter = 'debug' }\n",
    )
    .unwrap();
    let (mut server, url) = work_dir.serve("--config two.toml");
    work_dir
        .larder(&format!("read echo://error/secret --url {url}"))
        .expect_exit(1);
    let line = server.wait_for_stderr("it says because of");
    assert!(
        line.contains("[secret]") && line.contains("team=\"alpha\""),
        "{line}"
    );
    server.signal("TERM");
    let all = server.wait().stderr;
    assert!(!all.contains("hush-hush"), "{all}");
    fs::remove_file(work_dir.path("token")).unwrap();
    let missing = work_dir.larder("check --config two.toml");
    assert!(
        missing.stderr.contains("secret.token.file: cannot read")
            && !missing.stderr.contains("hush"),
        "{}",
        missing.stderr
    );
}

#[test]
fn check_shows_grants_that_a_ceiling_denies() {
    let work_dir = two_teams();
    fs::write(
        work_dir.path("alpha/wiki.toml"),
        "env = ['HOME', 'PATH']\nsecrets = ['token', 'other']\n",
    )
    .unwrap();
    let check = work_dir.larder("check --config two.toml");
    assert_eq!(check.code, Some(1), "{}", check.stderr);
    for line in [
        "alpha/wiki\n",
        "granted    secret token\n",
        "pending    variable HOME\n",
        "denied     secret other\n",
        "denied     variable PATH\n",
    ] {
        assert!(check.stdout.contains(line), "{line}: {}", check.stdout);
    }
    assert!(
        check.stderr.contains("exceeds [team.alpha.ceiling]"),
        "{}",
        check.stderr
    );
    assert!(
        check.stderr.contains("larder approve wiki --team alpha"),
        "{}",
        check.stderr
    );
    let inspect = work_dir
        .larder("inspect alpha/wiki.wasm --config two.toml --team alpha")
        .expect_success();
    for line in [
        "requests\n",
        "  variable PATH\n",
        "grants\n",
        "  denied     variable PATH\n",
        "  granted    secret token\n",
    ] {
        assert!(inspect.contains(line), "{line}: {inspect}");
    }
    let alone = work_dir.larder("inspect alpha/wiki.wasm").expect_success();
    assert!(
        alone.contains("  variable PATH\n") && !alone.contains("grants\n"),
        "{alone}"
    );
    let beta = work_dir.larder("check --config two.toml --team beta");
    assert_eq!(
        (beta.code, beta.stdout.contains("alpha")),
        (Some(0), false),
        "{} {}",
        beta.stdout,
        beta.stderr
    );
}
