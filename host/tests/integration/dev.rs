//! `larder dev`, where more counts than the component: what it asks for, whose it is, and saves that do not end.

use crate::author::{BUILDS, project};
use crate::process::{Place, Running};

/// Waits until what was saved last is loaded, and gives the endpoint's answer to what this setting is.
fn setting(place: &Place, url: &str) -> String {
    place.larder(&format!("read echo://setting/greeting --url {url}")).yes().trim().to_owned()
}

fn serving(place: &Place, words: &str) -> (Running, String) {
    let mut dev = place.start(&format!("dev project --listen 127.0.0.1:0 {words}"));
    let line = dev.told("serves http://");
    let url = line.split_whitespace().find(|word| word.starts_with("http://")).unwrap().to_owned();
    (dev, url)
}

#[test]
fn what_a_component_asks_for_counts_as_much_as_the_component() {
    let asks = "project/project.toml";
    let place = project(BUILDS).file(asks, "settings.greeting = 1 = 2\n");
    let (mut dev, url) = serving(&place, "");
    assert!(dev.told("project.wasm is rejected").contains("faults: line 1"));
    // Mended: what was wrong before is not told again.
    let place = place.file(asks, "settings.greeting = 'hello'\n");
    dev.told("loaded after");
    assert_eq!(setting(&place, &url), "hello");
    // Another one of the same component is in force as soon as it is said to be loaded.
    let place = place.file(asks, "settings.greeting = 'good evening'\n");
    dev.told("loaded after");
    assert_eq!(setting(&place, &url), "good evening");
    // A slip of a finger is told, though this component worked; and what worked goes on.
    let place = place.file(asks, "setting.greeting = 'bye'\n");
    assert!(dev.told("is rejected").contains("unknown field `setting`"));
    assert_eq!(setting(&place, &url), "good evening");
    // Taken out of the project, it is not in force any more.
    std::fs::remove_file(place.path(asks)).unwrap();
    dev.told("loaded after");
    assert_eq!(setting(&place, &url), "unset");
    // And one that cannot be read is no reason to go on without it.
    std::fs::create_dir(place.path(asks)).unwrap();
    let place = place.file("project/build.sh", &format!("{BUILDS} # again"));
    assert!(dev.told("cannot read ").contains("project.toml"));
    drop(place);
}

#[test]
fn a_folder_that_a_project_asks_for_is_its_own() {
    let asks = "project/project.toml";
    let place = project(BUILDS).file(asks, "dirs = ['docs']\n");
    let said = place.larder("dev project --once").no(1);
    let docs = place.path("project").canonicalize().unwrap().join("docs");
    assert!(said.contains(&format!("there is no folder {}: create it", docs.display())), "{said}");
    std::fs::create_dir(&docs).unwrap();
    place.larder("dev project --once").yes();
    let (mut dev, _) = serving(&place, "");
    dev.told("loaded after");
    // In a folder of others it is one of that folder, as it will be there.
    let said = place.start("dev project --plugins plugins").told("is rejected");
    let there = place.path("plugins").canonicalize().unwrap().join("docs");
    assert!(said.contains(&format!("there is no folder {}", there.display())), "{said}");
}

#[test]
fn what_a_component_says_is_shown() {
    let place = project(BUILDS);
    let (mut dev, url) = serving(&place, "");
    dev.told("loaded after");
    place.larder(&format!("read echo://hello --url {url}")).yes();
    dev.told("text=\"read echo://hello\"");
}

#[test]
fn what_is_taken_out_of_a_project_is_taken_out_of_the_other_folder_where_it_is_ours() {
    let asks = "project/project.toml";
    let place = project(BUILDS).file("plugins/project.toml", "settings.greeting = 'theirs'\n");
    let mut dev = place.start("dev project --plugins plugins");
    dev.told("project.toml does not belong to this project, and remains in effect");
    dev.told("loaded after");
    let place = place.file(asks, "settings.greeting = 'ours'\n");
    dev.told("loaded after");
    let copy = place.path("plugins/project.toml");
    assert_eq!(std::fs::read_to_string(&copy).unwrap(), "settings.greeting = 'ours'\n");
    std::fs::remove_file(place.path(asks)).unwrap();
    dev.told("loaded after");
    assert!(!copy.exists());
}

#[test]
fn one_team_of_several_is_whose_component_it_is() {
    let config = "[team.red.provider.project.settings]\ngreeting = 'red'\n[team.blue]\nplugins = 'blue'\n";
    let place = project(BUILDS).file("larder.toml", config);
    for (words, says) in [
        ("--config larder.toml", "--team: the configuration has teams: say with `--team NAME`"),
        ("--config larder.toml --team green", "there is no team green"),
        ("--team red", "there is no team red: the configuration has no [team.red]"),
    ] {
        let said = place.larder(&format!("dev project --once {words}")).no(64);
        assert!(said.contains(says), "{words}: {said}");
    }
    let once = place.larder("dev project --once --config larder.toml --team red").yes();
    assert!(once.starts_with("project: 4 resources"), "{once}");
    let (mut dev, url) = serving(&place, "--config larder.toml --team red");
    dev.told("loaded after");
    assert_eq!(setting(&place, &url), "red");
    dev.signal("INT");
    assert_eq!(dev.end().code, Some(0));
}

#[test]
fn dev_opens_nothing_to_everybody_and_leaves_nothing_behind() {
    let place = project(BUILDS);
    let said = place.larder("dev project --listen 0.0.0.0:0").no(64);
    assert!(said.contains("auth"), "{said}");
    let (mut dev, _) = serving(&place, "");
    dev.told("loaded after");
    dev.signal("INT");
    assert_eq!(dev.end().code, Some(0));
    assert!(!place.path("state").exists());
}

#[test]
fn saves_during_every_build_are_built_at_last() {
    // As if somebody saved in the middle of each build.
    let place =
        project("read -r text < text; test -e ../calm || echo \"$text.\" > text; cp ../echo.wasm made");
    let place = place.file("project/text", "text\n");
    let (mut dev, _) = serving(&place, "");
    dev.told("text changed during each of the last builds");
    dev.told("during each of the last 10 builds; waiting until they stop changing");
    dev.told("building project");
    dev.told("text changed during this build as well; the next build starts after the next save");
    // Ten and one, and nothing more until somebody saves.
    let text = std::fs::read_to_string(place.path("project/text")).unwrap();
    assert_eq!(text, "text...........\n");
    let place = place.file("calm", "").file("project/text", "saved\n");
    dev.told("building project");
    dev.told("loaded after");
    drop(place);
}
