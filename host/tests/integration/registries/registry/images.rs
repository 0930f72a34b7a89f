//! Stores that are prepared for images and init containers, and garbage collection.

use std::time::{Duration, SystemTime};

use super::workplace::Workplace;

#[test]
fn pull_prepares_a_store_for_an_image() {
    let Some(workplace) = Workplace::new() else {
        return;
    };
    let first = workplace.push("echo", "team/wiki:1");
    workplace.push("defined", "team/tools:1");
    workplace.add("team/wiki:1");
    workplace.add("team/tools:1");
    // The recorded image is pulled, although the tag was moved.
    workplace.push("interactive", "team/wiki:1");
    let pulled = workplace.run("pull --all --into image/components --json");
    assert_eq!(pulled.code, Some(0), "{}", pulled.stderr);
    let wiki = &pulled.json()["components"][1];
    assert_eq!(
        wiki["image"],
        format!("{}@{first}", workplace.reference("team/wiki"))
    );
    let unknown = workplace
        .run("pull gone --into image/components")
        .expect_exit(64);
    assert!(unknown.contains("gone has no `component`"), "{unknown}");
    assert!(!workplace.run("pull").expect_exit(64).is_empty());

    // The image contains the configuration, the lock file and the store, but no registry.
    for file in ["larder.toml", "larder.lock"] {
        std::fs::copy(workplace.path(file), workplace.path("image").join(file)).unwrap();
    }
    let config = workplace.text("image/larder.toml");
    let config = config.replacen(
        "[registries.",
        "[registries]\nstore = 'components'\n[registries.",
        1,
    );
    std::fs::write(workplace.path("image/larder.toml"), config).unwrap();
    std::fs::create_dir(workplace.path("image/plugins")).unwrap();
    let Workplace {
        work_dir, registry, ..
    } = workplace;
    drop(registry);
    let (_server, url) = work_dir.serve("--locked --admin off --config image/larder.toml");
    let text = work_dir
        .larder(&format!("read echo://say/hi --url {url}"))
        .expect_success();
    assert!(text.contains("value: word=hi"), "{text}");
    let verified = work_dir
        .larder("verify --config image/larder.toml --json")
        .json();
    assert_eq!(verified["ok"], true, "{verified}");
}

#[test]
fn what_cannot_be_pulled_is_named_and_the_rest_is_pulled() {
    let Some(workplace) = Workplace::new() else {
        return;
    };
    workplace.push("echo", "team/wiki:1");
    workplace.configure(&format!(
        "[provider.gone]\ncomponent = '{}'\n[provider.wiki]\ncomponent = '{}'\n",
        workplace.reference("team/gone:1"),
        workplace.reference("team/wiki:1")
    ));
    let pulled = workplace.run("pull --all --into store");
    assert_eq!(pulled.code, Some(1), "{}", pulled.stderr);
    assert!(
        pulled.stderr.contains("gone was not pulled: ") && pulled.stderr.contains("wiki: "),
        "{}",
        pulled.stderr
    );
    assert!(
        pulled.stderr.contains("wiki is not in larder.lock"),
        "{}",
        pulled.stderr
    );
}

#[test]
fn gc_keeps_what_lock_files_name() {
    let Some(workplace) = Workplace::new() else {
        return;
    };
    workplace.push("echo", "team/wiki:1");
    workplace.push("defined", "team/tools:1");
    workplace.configure("");
    let with_store = workplace.text("larder.toml").replacen(
        "[registries.",
        "[registries]\nstore = 'store'\n[registries.",
        1,
    );
    std::fs::write(workplace.path("larder.toml"), with_store).unwrap();
    workplace.add("team/wiki:1");
    workplace
        .run(&format!("inspect {}", workplace.reference("team/tools:1")))
        .expect_success();
    assert_eq!(
        workplace.run("gc --json").json()["blobs"],
        0,
        "all of it is new"
    );
    for file in std::fs::read_dir(workplace.path("store/blobs/sha256")).unwrap() {
        let file = std::fs::File::options()
            .append(true)
            .open(file.unwrap().path())
            .unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(7200))
            .unwrap();
    }
    let dry = workplace.run("gc --dry-run --json").json();
    let dry_again = workplace.run("gc --dry-run").expect_exit(0);
    assert!(dry_again.contains("would delete 2 files"), "{dry_again}");
    let collected = workplace.run("gc --json").json();
    assert_eq!(dry, collected);
    assert_eq!(
        collected["blobs"], 2,
        "the manifest and the component of tools: {collected}"
    );
    workplace.run("verify").expect_success();
}

#[test]
fn pull_replaces_what_is_damaged() {
    let Some(workplace) = Workplace::new() else {
        return;
    };
    workplace.push("echo", "team/wiki:1");
    let config = workplace.text("larder.toml");
    let config = config.replacen(
        "[registries.",
        "[registries]\nstore = 'store'\n[registries.",
        1,
    );
    std::fs::write(workplace.path("larder.toml"), config).unwrap();
    let added = workplace.add("team/wiki:1");
    let digest = added["locked"]["component"]
        .as_str()
        .unwrap()
        .strip_prefix("sha256:")
        .unwrap()
        .to_owned();
    let blob = workplace.path(&format!("store/blobs/sha256/{digest}"));
    let mut bytes = std::fs::read(&blob).unwrap();
    bytes[1_000] ^= 1;
    std::fs::remove_file(&blob).unwrap();
    std::fs::write(&blob, bytes).unwrap();
    let failed = workplace.run("verify");
    assert_eq!(failed.code, Some(1), "{}", failed.stderr);
    assert!(
        failed.stderr.contains("larder pull --all"),
        "{}",
        failed.stderr
    );
    workplace.run("pull --all").expect_success();
    workplace.run("verify").expect_success();
}
