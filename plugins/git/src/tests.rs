//! Tests of the provider with repositories that `git` makes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use larder_provider::{
    Body, CompletionRequest, Error, Provider, Query, Reading, Request, Result, SearchQuery,
    set_setting, set_time_left,
};
use provider_support::disk::Disk;

use crate::Git;
use crate::settings::Settings;

struct Fixture {
    root: tempfile::TempDir,
}

impl Fixture {
    /// A repository with two commits, a branch, a tag, and objects and references in all forms.
    fn new() -> Self {
        let fixture = Self {
            root: tempfile::tempdir().unwrap(),
        };
        fixture.git(&["init", "--quiet", "--initial-branch=main"]);
        fixture.write("README.md", "# One\n".repeat(500));
        fixture.write("src/a b.rs", "fn main() {}\n");
        fixture.write("src/ü.txt", "ü\n");
        fixture.write("data.bin", b"\0\x01");
        std::os::unix::fs::symlink("README.md", fixture.root.path().join("link")).unwrap();
        fixture.commit("First commit\n\nWith a body.");
        fixture.git(&["tag", "-a", "v1.0", "-m", "a tag"]);
        fixture.git(&["branch", "feature/login"]);
        fixture.write("README.md", "# One\n".repeat(500) + "two\n");
        fixture.commit("Second commit");
        fixture
    }

    fn git(&self, args: &[&str]) -> String {
        let mut git = Command::new("git");
        git.args([
            "-c",
            "user.name=Ann",
            "-c",
            "user.email=ann@example.org",
            "-c",
            "core.hooksPath=/dev/null",
        ]);
        // The configuration and the environment of the machine do not matter.
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("GIT_")) {
            git.env_remove(name);
        }
        git.args(args).current_dir(self.root.path());
        git.env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1");
        git.env("GIT_AUTHOR_DATE", "2024-02-29T12:34:56Z")
            .env("GIT_COMMITTER_DATE", "2024-02-29T12:34:56Z");
        let output = git.output().expect("the tests need git");
        assert!(
            output.status.success(),
            "git {args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn commit(&self, message: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "-m", message]);
    }

    fn open(&self) -> Git {
        open(self.root.path()).unwrap()
    }
}

fn open(path: &Path) -> Result<Git> {
    Git::open(
        vec![("/r".to_owned(), Disk(PathBuf::from(path)))],
        Settings::read()?,
    )
}

fn read(git: &Git, uri: &str) -> Result<Reading> {
    git.read(&Request::new(uri))
}

fn text(git: &Git, uri: &str) -> String {
    match read(git, uri).map(|mut reading| reading.contents.remove(0).body) {
        Ok(Body::Text(text)) => text,
        Ok(Body::Blob(bytes)) => format!("{bytes:?}"),
        Err(error) => error.to_string(),
    }
}

fn list(git: &Git, limit: u32) -> Vec<String> {
    let (mut query, mut all) = (Query::new(limit), Vec::new());
    loop {
        let page = git.list(&query).unwrap();
        all.extend(page.entries.into_iter().map(|entry| entry.uri));
        query.cursor = page.next_cursor;
        if query.cursor.is_none() {
            return all;
        }
    }
}

/// Checks the properties that are the same for loose and packed objects and references.
fn check_repository(fixture: &Fixture) {
    let git = fixture.open();
    let readme = "# One\n".repeat(500);
    assert_eq!(
        text(&git, "git://r/HEAD/README.md"),
        format!("{readme}two\n")
    );
    for revision in [
        "main~1",
        "main%5E",
        "v1.0",
        "feature:login",
        "heads:feature:login",
        "main~1~0",
    ] {
        assert_eq!(
            text(&git, &format!("git://r/{revision}/README.md")),
            readme,
            "{revision}"
        );
    }
    let id = fixture.git(&["rev-parse", "main"]);
    assert_eq!(
        read(&git, "git://r/main").unwrap().version.as_deref(),
        Some(id.as_str())
    );
    for revision in [id.as_str(), &id[..7]] {
        assert_eq!(
            text(&git, &format!("git://r/{revision}")),
            text(&git, "git://r/main")
        );
    }
    assert_eq!(
        text(&git, "git://r/main/"),
        "README.md\ndata.bin\nlink\nsrc/\n"
    );
    assert_eq!(text(&git, "git://r/main/src"), "ü.txt\na b.rs\n");
    assert_eq!(text(&git, "git://r/main/src/a%20b.rs"), "fn main() {}\n");
    assert_eq!(text(&git, "git://r/main/data.bin"), "[0, 1]");
    assert_eq!(text(&git, "git://r/main/link"), "README.md");
    for missing in [
        "none",
        "main/none",
        "main/README.md/x",
        "main~2",
        "main%5E2",
        "main~x",
        "0000000",
        "deadbeef",
        "main%2e%2e",
    ] {
        assert_eq!(
            text(&git, &format!("git://r/{missing}")),
            "not found",
            "{missing}"
        );
    }
}

#[test]
fn reads_loose_and_packed_objects() {
    let fixture = Fixture::new();
    check_repository(&fixture);
    fixture.git(&["pack-refs", "--all"]);
    check_repository(&fixture);
    fixture.git(&["gc", "--quiet", "--aggressive"]);
    assert!(fixture.git(&["count-objects", "-v"]).contains("count: 0\n"));
    assert!(
        fixture
            .git(&["verify-pack", "-v", &pack_index(&fixture)])
            .contains("chain length = 1")
    );
    check_repository(&fixture);
    fixture.git(&["-c", "repack.useDeltaBaseOffset=false", "repack", "-adfq"]);
    check_repository(&fixture);
}

fn pack_index(fixture: &Fixture) -> String {
    let packs = fs::read_dir(fixture.root.path().join(".git/objects/pack")).unwrap();
    let mut paths = packs.map(|entry| entry.unwrap().path().display().to_string());
    paths.find(|path| path.ends_with(".idx")).unwrap()
}

#[test]
fn shows_commits_logs_and_diffs() {
    let fixture = Fixture::new();
    let git = fixture.open();
    let ids = ["main", "main~1"].map(|revision| fixture.git(&["rev-parse", revision]));
    let who = "Ann <ann@example.org>, 2024-02-29T12:34:56Z";
    let expected = format!(
        "commit {}\nParent: {}\nAuthor: {who}\nCommitter: {who}\n\n    Second commit\n\nM  README.md\n",
        ids[0], ids[1]
    );
    assert_eq!(text(&git, "git://r/main"), expected);
    assert!(text(&git, "git://r/v1.0").ends_with(
        "    With a body.\n\nA  README.md\nA  data.bin\nA  link\nA  src/a b.rs\nA  src/ü.txt\n"
    ));
    let line = |id: &str, subject: &str| {
        format!(
            "- [{}](git://r/{id}) 2024-02-29T12:34:56Z Ann: {subject}\n",
            &id[..10]
        )
    };
    let log = line(&ids[0], "Second commit") + &line(&ids[1], "First commit");
    assert_eq!(text(&git, "git://r/main?log=9"), log);
    let more = format!("… and older commits: git://r/{}?log=1&skip=1\n", ids[0]);
    assert_eq!(
        text(&git, "git://r/main?log=1"),
        line(&ids[0], "Second commit") + &more
    );
    let diff = "diff --git a/README.md b/README.md\n--- a/README.md\n+++ b/README.md\n\
                @@ -498,3 +498,4 @@\n # One\n # One\n # One\n+two\n";
    assert_eq!(text(&git, "git://r/main?since=v1.0"), diff);
    assert_eq!(text(&git, "git://r/main?since=v1.0&path=README.md"), diff);
    assert_eq!(text(&git, "git://r/main?since=v1.0&path=src"), "");
    assert_eq!(text(&git, "git://r/main?since=v1.0&path=none"), "not found");
    assert!(
        read(&git, "git://r/main?since=v1.0")
            .unwrap()
            .version
            .unwrap()
            .contains("..")
    );
    assert!(
        text(&git, "git://r").contains("HEAD is the branch main.")
            && text(&git, "git://r").contains("- [v1.0](git://r/v1.0)")
    );
}

#[test]
fn lists_references_and_files() {
    let fixture = Fixture::new();
    let git = fixture.open();
    let expected = [
        "git://r",
        "git://r/HEAD",
        "git://r/HEAD/README.md",
        "git://r/HEAD/data.bin",
        "git://r/HEAD/src/%C3%BC.txt",
        "git://r/HEAD/src/a%20b.rs",
        "git://r/feature:login",
        "git://r/main",
        "git://r/v1.0",
    ];
    for limit in 1..11 {
        assert_eq!(list(&git, limit), expected, "{limit}");
    }
    for entry in git.list(&Query::new(99)).unwrap().entries {
        let reading = read(&git, &entry.uri).unwrap();
        assert!(
            entry.version.is_none() || reading.version == entry.version,
            "{}",
            entry.uri
        );
    }
    set_setting("list_files", "false");
    assert_eq!(list(&fixture.open(), 99).len(), 5);
}

#[test]
fn completes_revisions_and_paths() {
    let fixture = Fixture::new();
    let git = fixture.open();
    let check = |variable: &str, prefix: &str, rev: &str, expected: &[&str]| {
        let request = CompletionRequest {
            uri_template: "git://r/{rev}/{+path}".into(),
            variable: variable.into(),
            prefix: prefix.into(),
            filled: vec![("rev".into(), rev.into())],
        };
        assert_eq!(
            git.complete(&request).unwrap().values,
            expected,
            "{variable} {prefix}"
        );
    };
    check("rev", "", "", &["HEAD", "feature:login", "main", "v1.0"]);
    check("since", "f", "", &["feature:login"]);
    check(
        "path",
        "",
        "feature:login",
        &["README.md", "data.bin", "link", "src/"],
    );
    check("path", "src/a", "main", &["src/a b.rs"]);
    check("path", "none/", "main", &[]);
    check("path", "../", "main", &[]);
    check("path", "", "none", &[]);
}

#[test]
fn versions_follow_a_branch() {
    let fixture = Fixture::new();
    let git = fixture.open();
    let uris = [
        "git://r/main",
        "git://r/main/README.md",
        "git://r/main/src",
        "git://r/v1.0",
        "git://r",
        "git://r/none",
    ];
    let uris = uris.map(str::to_owned);
    let before = git.versions(&uris).unwrap();
    assert_eq!(before[5], None);
    let known = Request {
        known_version: before[0].clone(),
        ..Request::new(&uris[0])
    };
    assert_eq!(git.read(&known).err(), Some(Error::NotModified));
    fixture.write("README.md", "three\n");
    fixture.commit("Third");
    let after = git.versions(&uris).unwrap();
    let changed: Vec<bool> = before
        .iter()
        .zip(&after)
        .map(|(before, after)| before != after)
        .collect();
    assert_eq!(changed, [true, true, false, false, true, false]);
    assert!(git.read(&known).is_ok());
    let fixed = read(
        &git,
        &format!("git://r/{}/README.md", before[0].as_ref().unwrap()),
    )
    .unwrap();
    assert_eq!(fixed.freshness.unwrap().ttl_ms, 24 * 3600 * 1000);
}

#[test]
fn reports_what_is_not_supported() {
    let fixture = Fixture::new();
    let error = |path: &Path| {
        open(path)
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default()
    };
    let empty = tempfile::tempdir().unwrap();
    assert_eq!(
        error(empty.path()),
        "r: the granted folder is not a git repository"
    );
    let worktree = empty.path().join("worktree");
    fixture.git(&[
        "worktree",
        "add",
        "--quiet",
        "--detach",
        worktree.to_str().unwrap(),
    ]);
    assert!(
        error(&worktree).contains("linked worktree"),
        "{}",
        error(&worktree)
    );
    let new = |name: &str, option: &str| {
        let path = empty.path().join(name);
        fixture.git(&["init", "--quiet", option, path.to_str().unwrap()]);
        path
    };
    assert!(
        error(&new("sha256", "--object-format=sha256")).contains("object ids of the kind sha256")
    );
    let unborn = open(&new("unborn", "--initial-branch=main")).unwrap();
    assert_eq!(list(&unborn, 9), ["git://r"]);
    let bare = new("bare", "--bare");
    fixture.git(&["push", "--quiet", bare.to_str().unwrap(), "main"]);
    assert!(text(&open(&bare).unwrap(), "git://r/main/README.md").ends_with("two\n"));
    let folder = || Disk(fixture.root.path().to_owned());
    let name = Git::open(
        vec![("/My Repo".to_owned(), folder())],
        Settings::read().unwrap(),
    );
    assert!(name.is_err_and(|error| error.to_string().contains("lower-case")));
}

#[test]
fn a_repository_that_cannot_be_served_takes_away_only_itself() {
    let (fixture, empty) = (Fixture::new(), tempfile::tempdir().unwrap());
    let folder = || Disk(fixture.root.path().to_owned());
    let folders = vec![
        ("/empty".to_owned(), Disk(empty.path().to_owned())),
        ("/a/r".to_owned(), folder()),
        ("/b/r.git".to_owned(), folder()),
    ];
    let git = Git::open(folders, Settings::read().unwrap()).unwrap();
    assert!(text(&git, "git://r/main/README.md").ends_with("two\n"));
    let summary = git.describe().summary.unwrap();
    assert!(
        summary.contains("empty: the granted folder is not a git repository"),
        "{summary}"
    );
    assert!(
        summary.contains("two repositories have the name `r`"),
        "{summary}"
    );
    // A list of references that cannot be read.
    fs::write(
        fixture.root.path().join(".git/packed-refs"),
        vec![b'x'; 33 << 20],
    )
    .unwrap();
    let other = Fixture::new();
    let folders = vec![
        ("/r".to_owned(), folder()),
        ("/z".to_owned(), Disk(other.root.path().to_owned())),
    ];
    let git = Git::open(folders, Settings::read().unwrap()).unwrap();
    assert!(list(&git, 99).contains(&"git://z/main".to_owned()));
    let hits = git.search(&SearchQuery::new("login", 10)).unwrap().hits;
    assert_eq!(hits[0].entry.uri, "git://z/feature:login");
}

#[test]
fn each_repository_has_its_own_templates() {
    let (one, two) = (Fixture::new(), Fixture::new());
    two.git(&["branch", "only-in-two"]);
    let folders = [("/one", &one), ("/two", &two)];
    let folders =
        folders.map(|(path, fixture)| (path.to_owned(), Disk(fixture.root.path().to_owned())));
    let git = Git::open(folders.into(), Settings::read().unwrap()).unwrap();
    let templates = git.templates(None).unwrap().templates;
    assert_eq!(templates.len(), 8);
    let complete = |uri_template: &str| {
        let request = CompletionRequest {
            uri_template: uri_template.into(),
            variable: "rev".into(),
            prefix: "only".into(),
            filled: Vec::new(),
        };
        git.complete(&request).map(|found| found.values)
    };
    for template in &templates {
        let expected: &[&str] = if template.uri_template.contains("two") {
            &["only-in-two"]
        } else {
            &[]
        };
        assert_eq!(
            complete(&template.uri_template).unwrap(),
            expected,
            "{}",
            template.uri_template
        );
    }
    assert_eq!(complete("git://three/{rev}"), Err(Error::NotFound));
    for uri in [
        "git://two/main",
        "git://two/main/a/b",
        "git://two/main?log=2",
        "git://two/main?since=v1.0",
    ] {
        let found = git.match_uri(uri).unwrap().uri_template;
        assert!(
            templates
                .iter()
                .any(|template| template.uri_template == found),
            "{uri}: {found}"
        );
    }
}

#[test]
fn a_shallow_clone_has_an_end() {
    let fixture = Fixture::new();
    let (newest, first) = (
        fixture.git(&["rev-parse", "main"]),
        fixture.git(&["rev-parse", "main~1"]),
    );
    let git_dir = fixture.root.path().join(".git");
    fs::remove_file(git_dir.join("objects").join(&first[..2]).join(&first[2..])).unwrap();
    fs::write(git_dir.join("shallow"), format!("{newest}\n")).unwrap();
    let git = fixture.open();
    let commit = text(&git, "git://r/HEAD");
    assert!(
        commit.contains("Second commit") && commit.contains("shallow clone"),
        "{commit}"
    );
    let log = text(&git, "git://r/HEAD?log=5");
    assert!(
        log.contains("Second commit") && log.contains("shallow clone"),
        "{log}"
    );
    assert_eq!(log.lines().count(), 2, "{log}");
    assert!(text(&git, "git://r/HEAD/README.md").ends_with("two\n"));
    assert_eq!(text(&git, "git://r/HEAD~1"), "not found");
}

#[test]
fn a_log_that_does_not_end_says_where_it_continues() {
    let fixture = Fixture::new();
    for number in 0..5 {
        fixture.git(&[
            "commit",
            "--quiet",
            "--allow-empty",
            "-m",
            &format!("Number {number}"),
        ]);
    }
    fixture.git(&["checkout", "-q", "feature/login"]);
    fixture.git(&["commit", "--quiet", "--allow-empty", "-m", "On the side"]);
    fixture.git(&["checkout", "-q", "main"]);
    fixture.git(&["merge", "-q", "--no-ff", "-m", "A merge", "feature/login"]);
    let git = fixture.open();
    let all = text(&git, "git://r/main?log=100");
    let (mut uri, mut joined) = ("git://r/main?log=4".to_owned(), String::new());
    loop {
        let page = text(&git, &uri);
        let Some((lines, next)) = page.split_once("… and older commits: ") else {
            joined += &page;
            break;
        };
        assert_eq!(lines.lines().count(), 4, "{page}");
        joined += lines;
        uri = next.trim().to_owned();
        // The position stays the same when the branch moves.
        assert!(!uri.contains("main"), "{uri}");
    }
    assert_eq!(joined, all);
    assert_eq!(all.lines().count(), 9);
}

#[test]
fn large_objects_are_refused_before_they_are_decompressed() {
    let fixture = Fixture::new();
    fixture.write("bomb", vec![0; 5 << 20]);
    fixture.commit("A bomb");
    set_setting("max_bytes", "1MiB");
    let limit = "invalid: the object is larger than the limit of 1 MiB (setting `max_bytes`)";
    assert_eq!(text(&fixture.open(), "git://r/main/bomb"), limit);
    fixture.git(&["gc", "--quiet"]);
    assert_eq!(text(&fixture.open(), "git://r/main/bomb"), limit);
    assert!(
        text(&fixture.open(), "git://r/main?since=main~1")
            .contains("The file is too large to be compared")
    );
}

#[test]
fn revisions_name_each_parent() {
    let fixture = Fixture::new();
    fixture.git(&["checkout", "-q", "feature/login"]);
    fixture.write("side.txt", "side\n");
    fixture.commit("On the side");
    fixture.git(&["checkout", "-q", "main"]);
    fixture.git(&["merge", "-q", "--no-ff", "-m", "A merge", "feature/login"]);
    let git = fixture.open();
    for revision in ["main^2", "main^1~1", "main~2", "main^2^", "main^0^"] {
        let expected = fixture.git(&["rev-parse", revision]);
        let uri = format!("git://r/{}", revision.replace('^', "%5E"));
        assert_eq!(
            read(&git, &uri).unwrap().version,
            Some(expected),
            "{revision}"
        );
    }
    assert_eq!(text(&git, "git://r/main?log=9").lines().count(), 4);
}

#[test]
fn deep_folders_are_refused() {
    let fixture = Fixture::new();
    fixture.write(&format!("{}x", "d/".repeat(90)), "");
    fixture.commit("Deep");
    let git = fixture.open();
    assert!(text(&git, "git://r/main").contains("d/d/d"));
    assert!(
        list(&git, 99).iter().all(|uri| !uri.contains("d/d/d")),
        "beyond the maximum depth of a list"
    );
    fixture.write(&format!("{}x", "e/".repeat(120)), "");
    fixture.commit("Deeper");
    assert_eq!(
        text(&git, "git://r/main"),
        "invalid: the folders are nested more than 100 deep"
    );
    assert_eq!(
        text(&git, &format!("git://r/main/{}x", "e/".repeat(120))),
        ""
    );
}

#[test]
fn damaged_files_are_errors() {
    let fixture = Fixture::new();
    fixture.git(&["gc", "--quiet", "--aggressive"]);
    let index = pack_index(&fixture);
    for path in [index.clone(), index.replace(".idx", ".pack")] {
        let good = fs::read(&path).unwrap();
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
        // Each byte in turn gets another value, and the data are cut at each length. The code must not panic or take
        // long.
        for at in (0..good.len()).step_by(3) {
            let mut bad = good.clone();
            bad[at] ^= 0xff;
            for content in [&bad, &good[..at]] {
                fs::write(&path, content).unwrap();
                let git = fixture.open();
                for uri in [
                    "git://r/main",
                    "git://r/main/README.md",
                    "git://r/main?log=9",
                    "git://r/main?since=v1.0",
                ] {
                    _ = text(&git, uri);
                }
                _ = git.list(&Query::new(99));
            }
        }
        fs::write(&path, &good).unwrap();
    }
    check_repository(&fixture);
}

#[test]
fn without_a_repository_nothing_is_offered() {
    let git = Git::open(Vec::new(), Settings::read().unwrap()).unwrap();
    assert!(git.describe().summary.unwrap().contains("add `dirs`"));
    assert!(list(&git, 9).is_empty() && git.templates(None).unwrap().templates.is_empty());
    assert_eq!(text(&git, "git://r/main"), "not found");
}

#[test]
fn searches_the_names_and_texts_of_head() {
    let fixture = Fixture::new();
    let git = fixture.open();
    let search = |text: &str| {
        let hits = git.search(&SearchQuery::new(text, 10)).unwrap().hits;
        hits.into_iter()
            .map(|hit| (hit.entry.uri, hit.excerpt))
            .collect::<Vec<_>>()
    };
    let two = search("TWO");
    assert_eq!(two.len(), 1);
    assert!(two[0].0.ends_with("/HEAD/README.md"), "{two:?}");
    assert_eq!(two[0].1.as_deref(), Some("two"));
    assert!(
        search("main")
            .iter()
            .any(|(uri, _)| uri.ends_with("/HEAD/src/a%20b.rs"))
    );
    assert!(
        search("login")
            .iter()
            .any(|(uri, _)| uri.ends_with("/feature:login"))
    );
    assert_eq!((search("nothing").len(), search("?!").len()), (0, 0));
    let body = search("body");
    assert_eq!(
        (body.len(), body[0].1.as_deref()),
        (1, Some("With a body."))
    );
    let first = fixture.git(&["rev-parse", "main~1"]);
    assert_eq!(body[0].0, format!("git://r/{first}"));
    // Without time for files, branches are found, and the other results are reported as missing.
    set_time_left(Duration::ZERO);
    let hits = git.search(&SearchQuery::new("login", 10)).unwrap();
    let metadata = &hits
        .hits
        .last()
        .unwrap()
        .entry
        .details
        .as_ref()
        .unwrap()
        .metadata;
    assert!(
        metadata
            .iter()
            .any(|(key, _)| key == "dev.larder.search/incomplete"),
        "{metadata:?}"
    );
    assert!(hits.freshness.is_none());
    assert!(matches!(
        git.search(&SearchQuery::new("two", 10)),
        Err(Error::Unavailable(_))
    ));
}
