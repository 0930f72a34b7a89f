//! Teams as an operator meets them: one configuration, the real binary.

use std::fs;

use crate::house::component;
use crate::process::Place;

const TWO: &str = "
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

fn place() -> Place {
    let place = Place::of("").file("two.toml", TWO).file("token", "hush-hush-hush\n");
    for team in ["alpha", "beta"] {
        fs::create_dir(place.path(team)).unwrap();
        fs::copy(component("echo"), place.path(team).join("wiki.wasm")).unwrap();
    }
    place
}

#[test]
fn a_command_asks_as_a_team() {
    let place = place();
    let read = |words: &str| place.larder(&format!("read --config two.toml {words}"));
    assert_eq!(read("--team alpha echo://setting/colour").yes(), "blue");
    assert_eq!(read("--team beta echo://setting/colour").yes(), "red");
    assert!(read("echo://hello").yes().contains("caller: me of alpha"));
    assert!(read("--team gamma echo://hello").no(64).contains("--team: there is no team gamma"));
    assert!(
        place
            .larder("serve --config two.toml --listen 127.0.0.1:0")
            .no(64)
            .contains("server.teams: there are several")
    );
    assert!(place.larder("list --plugins alpha").yes().contains("echo://hello"));
}

#[test]
fn what_one_team_brings_keeps_nobody_else_waiting() {
    let slow = "[server]\nteams = ['beta']\n[team.alpha.provider.wiki]\n\
                settings = { in = 'describe' }\nlimits = { timeout = '1h' }\n[team.alpha]\nplugins = 'alpha'\n\
                [team.beta]\nplugins = 'beta'\n";
    let place = place();
    fs::write(place.path("two.toml"), slow).unwrap();
    fs::copy(component("echo"), place.path("alpha/quick.wasm")).unwrap();
    fs::copy(component("sleep"), place.path("alpha/wiki.wasm")).unwrap();
    // It never ends, and so would the start.
    let (mut server, url) = place.serve("--config two.toml");
    // Beta's own may have to be compiled first, which on a busy machine takes longer than the start is held.
    let began = std::time::Instant::now();
    let said = loop {
        let ran = place.larder(&format!("read echo://hello --url {url}"));
        if ran.code == Some(0) || began.elapsed() > std::time::Duration::from_secs(60) {
            break ran.yes();
        }
    };
    assert!(said.contains("of beta"), "{said}");
    // And what alpha had by then is served, too.
    let line = server.has_told("not all of its components");
    assert!(line.contains("alpha"), "{line}");
    server.signal("KILL");
}

#[test]
fn a_secret_reaches_who_was_granted_it_and_no_other_place() {
    let place = place();
    let read = |words: &str| place.larder(&format!("read --config two.toml {words}"));
    assert_eq!(read("--team alpha echo://setting/token").yes(), "hush-hush-hush");
    assert_eq!(read("--team beta echo://setting/token").yes(), "unset");
    let said = place.larder("check --config two.toml --json");
    assert!(said.out.contains("secret token") && !said.out.contains("hush-hush-hush"), "{}", said.out);
    // It says it in an error and in its log, and is not heard.
    let told = read("--team alpha echo://error/secret").no(1);
    assert!(told.contains("because of [secret]") && !told.contains("hush-hush"), "{told}");
    let text = fs::read_to_string(place.path("two.toml")).unwrap();
    fs::write(place.path("two.toml"), text + "[server]\nteams = ['alpha']\nlog = { filter = 'debug' }\n")
        .unwrap();
    let (mut server, url) = place.serve("--config two.toml");
    place.larder(&format!("read echo://error/secret --url {url}")).no(1);
    let line = server.told("it says because of");
    assert!(line.contains("[secret]") && line.contains("team=\"alpha\""), "{line}");
    server.signal("TERM");
    let all = server.end().err;
    assert!(!all.contains("hush-hush"), "{all}");
    fs::remove_file(place.path("token")).unwrap();
    let gone = place.larder("check --config two.toml");
    assert!(
        gone.err.contains("secret.token.file: cannot read") && !gone.err.contains("hush"),
        "{}",
        gone.err
    );
}

#[test]
fn check_shows_what_a_ceiling_cuts_off() {
    let place = place();
    fs::write(place.path("alpha/wiki.toml"), "env = ['HOME', 'PATH']\nsecrets = ['token', 'other']\n")
        .unwrap();
    let check = place.larder("check --config two.toml");
    assert_eq!(check.code, Some(1), "{}", check.err);
    for line in [
        "alpha/wiki\n",
        "granted    secret token\n",
        "pending    variable HOME\n",
        "denied     secret other\n",
        "denied     variable PATH\n",
    ] {
        assert!(check.out.contains(line), "{line}: {}", check.out);
    }
    assert!(check.err.contains("exceeds [team.alpha.ceiling]"), "{}", check.err);
    assert!(check.err.contains("larder approve wiki --team alpha"), "{}", check.err);
    let inspect = place.larder("inspect alpha/wiki.wasm --config two.toml --team alpha").yes();
    for line in [
        "requests\n",
        "  variable PATH\n",
        "grants\n",
        "  denied     variable PATH\n",
        "  granted    secret token\n",
    ] {
        assert!(inspect.contains(line), "{line}: {inspect}");
    }
    let alone = place.larder("inspect alpha/wiki.wasm").yes();
    assert!(alone.contains("  variable PATH\n") && !alone.contains("grants\n"), "{alone}");
    let beta = place.larder("check --config two.toml --team beta");
    assert_eq!((beta.code, beta.out.contains("alpha")), (Some(0), false), "{} {}", beta.out, beta.err);
}
