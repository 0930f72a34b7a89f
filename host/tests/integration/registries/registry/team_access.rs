//! Credentials of a team: they are used only for that team, and no log contains them. Images that were pulled with them
//! are also only for that team.

use super::running::Server;
use super::server::{Access, PASSWORD, USER};
use super::workplace::{Workplace, digest};
use crate::support::harness::{SLOW_WAIT, component_path, eventually_blocking};
use crate::support::process::path_arg;
use crate::support::revision::revision;

/// The first password of beta.
const WRONG: &str = "another-password";
/// Shows the log lines of the registry client and of the libraries that it uses.
const FILTER: &str =
    "info,larder=trace,larder_registry=trace,reqwest=trace,hyper=trace,hyper_util=trace";

/// The passwords and the plugins folders of two teams.
fn prepare(workplace: &Workplace) {
    for (file, content) in [("alpha.txt", PASSWORD), ("beta.txt", WRONG)] {
        std::fs::write(workplace.path(file), content).unwrap();
    }
    for team in ["alpha", "beta"] {
        std::fs::create_dir(workplace.path(team)).unwrap();
    }
}

/// A section with credentials of beta.
fn credentials_of_beta(workplace: &Workplace) -> String {
    let address = workplace.registry.address();
    format!(
        "[team.beta.credentials.\"{address}\"]\nusername = '{USER}'\npassword = 'beta-password'"
    )
}

/// A configuration with two teams. `beta` is the content of the section of the team `beta`, which has this image.
fn configure(workplace: &Workplace, beta: &str, image_of_beta: &str) {
    let (address, image) = (
        workplace.registry.address(),
        workplace.reference("team/wiki:1"),
    );
    let image_of_beta = workplace.reference(image_of_beta);
    let text = format!(
        r#"
        [registries]
        docker_credentials = false
        check_interval = "300ms"
        [registries.permitted."{address}"]
        plain_http = true
        [secret.alpha-password]
        file = "alpha.txt"
        [secret.beta-password]
        file = "beta.txt"
        [server]
        teams = ["alpha", "beta"]
        unauthenticated = true
        [team.alpha]
        plugins = "alpha"
        [team.alpha.credentials."{address}"]
        username = "{USER}"
        password = "alpha-password"
        [team.alpha.provider.wiki]
        component = "{image}"
        [team.beta]
        plugins = "beta"
        {beta}
        [team.beta.provider.wiki]
        component = "{image_of_beta}"
        "#
    );
    std::fs::write(workplace.path("larder.toml"), text).unwrap();
}

/// The number of providers of each team, and the whole status as text.
fn served(server: &Server<'_>) -> ([usize; 2], String) {
    let status = server.status();
    let count = |at: usize| {
        status["teams"][at]["providers"]
            .as_array()
            .map_or(0, Vec::len)
    };
    ([count(0), count(1)], status.to_string())
}

fn wait_until_refused(server: &Server<'_>, reason: &str) {
    eventually_blocking(SLOW_WAIT, "alpha has it, and beta is refused", || {
        let (providers, status) = served(server);
        providers == [1, 0]
            && status.contains("refuses access to team/wiki")
            && status.contains(reason)
    });
}

#[test]
fn credentials_of_a_team_are_for_that_team_only() {
    let Some(mut workplace) = Workplace::with_access(Access::Password) else {
        return;
    };
    prepare(&workplace);
    configure(&workplace, "", "team/wiki:1");
    let (file, reference) = (
        path_arg(&component_path("echo")).to_owned(),
        workplace.reference("team/wiki:1"),
    );
    let refused = workplace.run(&format!("push {file} {reference} --team beta"));
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    workplace
        .run(&format!("push {file} {reference} --team alpha"))
        .expect_success();
    let refused = workplace
        .run(&format!("inspect {reference} --team beta"))
        .expect_exit(1);
    assert!(refused.contains("refuses access to team/wiki"), "{refused}");

    workplace.env.push(("LARDER_LOG".into(), FILTER.into()));
    let server = Server::start(&workplace, "");
    wait_until_refused(&server, "there are none");
    // Beta has a wrong password, and there is an update that alpha gets.
    configure(&workplace, &credentials_of_beta(&workplace), "team/wiki:1");
    server.reload();
    wait_until_refused(&server, "check its credentials");
    std::fs::write(workplace.path("new.wasm"), revision(1)).unwrap();
    workplace
        .run(&format!("push new.wasm {reference} --team alpha"))
        .expect_success();
    server.wait_for_status("alpha sees the update", |shown| {
        shown.contains("pending approval")
    });
    wait_until_refused(&server, "check its credentials");
    std::fs::write(workplace.path("beta.txt"), PASSWORD).unwrap();
    server.reload();
    eventually_blocking(SLOW_WAIT, "both have it", || served(&server).0 == [1, 1]);

    let status = server.status().to_string() + &server.shown();
    server.process.signal("TERM");
    let output = server.process.wait();
    let written = output.stdout + &output.stderr;
    assert!(
        written.contains("a registry did not return what was requested"),
        "{written}"
    );
    let encoded = |password: &str| {
        base64_simd::STANDARD.encode_to_string(format!("{USER}:{password}").as_bytes())
    };
    for secret in [
        PASSWORD.to_owned(),
        WRONG.to_owned(),
        encoded(PASSWORD),
        encoded(WRONG),
    ] {
        assert!(
            !written.contains(&secret) && !status.contains(&secret),
            "{secret}: {written}"
        );
    }
}

/// Beta has the digest of an image that alpha pulled, and that the server therefore has on its disk.
#[test]
fn what_a_team_pulled_with_its_credentials_is_for_that_team_only() {
    let Some(workplace) = Workplace::with_access(Access::Password) else {
        return;
    };
    prepare(&workplace);
    configure(&workplace, "", "team/other:1");
    let (file, reference) = (
        path_arg(&component_path("echo")).to_owned(),
        workplace.reference("team/wiki:1"),
    );
    let pushed = workplace.run(&format!("push {file} {reference} --team alpha --json"));
    let digest = digest(&pushed.json());
    let server = Server::start(&workplace, "");
    eventually_blocking(SLOW_WAIT, "alpha has it", || served(&server).0 == [1, 0]);

    let pinned = format!("team/wiki@{digest}");
    configure(&workplace, "", &pinned);
    server.reload();
    wait_until_refused(&server, "there are none");
    configure(&workplace, &credentials_of_beta(&workplace), &pinned);
    server.reload();
    wait_until_refused(&server, "check its credentials");
    std::fs::write(workplace.path("beta.txt"), PASSWORD).unwrap();
    server.reload();
    eventually_blocking(SLOW_WAIT, "both have it", || served(&server).0 == [1, 1]);

    // A store that is filled for an image also separates the teams.
    workplace
        .run("pull --all --into components --team alpha")
        .expect_success();
    let manifest = digest.strip_prefix("sha256:").unwrap();
    assert!(
        workplace
            .path(&format!("components/teams/alpha/blobs/sha256/{manifest}"))
            .is_file()
    );
    assert!(!workplace.path("components/blobs").exists());
}
