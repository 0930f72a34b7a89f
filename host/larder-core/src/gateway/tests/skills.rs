use super::{read, uri};
use crate::catalog::{self, Catalog};
use crate::gateway::{Error, Filter, Gateway, TeamParts};
use crate::skill_snapshots::SkillFollower;
use crate::test_team::{self, TestTeam};
use larder_model::name::{Digest, ProviderName, TeamName, Teams};
use larder_model::policy::Grant;
use larder_model::resource::{Body, Call, Caller};
use larder_model::search::SearchQuery;
use larder_provider::fake::FakeContent;
use larder_provider::{Provider, signal_channel};
use larder_runtime::drain::Drain;
use larder_runtime::history::EventLog;
use larder_runtime::memory_budget::MemoryBudget;
use std::sync::Arc;
use std::time::Duration;

fn grant() -> Grant {
    Grant {
        skills: true,
        ..Grant::default()
    }
}

fn skill_md(name: &str, text: &str) -> String {
    format!("---\nname: {name}\ndescription: Does {name}\n---\n{text}")
}

fn pdf() -> FakeContent {
    FakeContent::default()
        .with_text("skill://pdf/SKILL.md", &skill_md("pdf", "one"))
        .with_text("skill://pdf/scripts/fill.py", "print(1)")
        .with_text("skill://other", "no skill")
}

async fn team(content: &FakeContent) -> TestTeam {
    TestTeam::new([content.provider("wiki", grant())], 10).await
}

/// Returns each skill with its files, and whether each digest is of the text that a read returns.
async fn skills(gateway: &Gateway, call: &Arc<Call>) -> Vec<String> {
    let page = gateway.skills(call, None).await.unwrap();
    let mut shown = Vec::new();
    for skill in page.items {
        let mut line = format!("{}:", skill.uri());
        for file in &skill.files {
            let result = gateway.read(call, &file.uri, None).await.unwrap();
            let Body::Text(text) = &result.contents[0].body else {
                panic!("these tests use text only")
            };
            assert_eq!(file.digest, Digest::of(text.as_bytes()), "{}", file.uri);
            assert_eq!(file.size, text.len() as u64);
            line += &format!(" {}", file.uri);
        }
        shown.push(line);
    }
    shown
}

fn problems(team: &TestTeam) -> Vec<String> {
    let skills = team.reader.skills();
    let of = skills.of(&ProviderName::parse("wiki").unwrap()).unwrap();
    of.problems().iter().map(ToString::to_string).collect()
}

const PDF: &str = "skill://pdf/SKILL.md: skill://pdf/SKILL.md skill://pdf/scripts/fill.py";

#[tokio::test]
async fn a_search_finds_a_skill_by_its_description() {
    let team = team(&pdf()).await;
    let query = SearchQuery {
        text: "does pdf".into(),
        ..SearchQuery::default()
    };
    let page = team.gateway.search(&TestTeam::call(), &query, None).await;
    let results = page.unwrap().results;
    let found: Vec<_> = results
        .iter()
        .map(|found| (found.entry.uri.as_str(), found.entry.name.as_str()))
        .collect();
    assert_eq!(found, [("skill://pdf/SKILL.md", "pdf")]);
}

#[tokio::test]
async fn a_skill_is_offered_only_with_a_grant() {
    let content = pdf();
    let team = TestTeam::new([content.provider("wiki", Grant::default())], 10).await;
    assert!(skills(&team.gateway, &TestTeam::call()).await.is_empty());
    assert_eq!(content.calls(), ["probe"]);
    let mut team = self::team(&content).await;
    assert_eq!(skills(&team.gateway, &TestTeam::call()).await, [PDF]);
    let call = TestTeam::call();
    let of = uri("skill://pdf/SKILL.md");
    assert_eq!(
        team.gateway.skill(&call, &of).await.unwrap().0.files.len(),
        2
    );
    for unknown in [
        "skill://pdf",
        "skill://other",
        "skill://pdf/scripts/fill.py",
    ] {
        let result = team.gateway.skill(&call, &uri(unknown)).await;
        assert!(
            matches!(result, Err(Error::UnknownSkill { .. })),
            "{result:?}"
        );
    }
    // The grant is withdrawn: no request sees the skill, also before the snapshot is removed.
    team.serve([content.provider("wiki", Grant::default())])
        .await;
    assert!(skills(&team.gateway, &call).await.is_empty());
    assert!(team.gateway.skill(&call, &of).await.is_err());
}

#[tokio::test]
async fn the_entry_of_a_skill_has_its_name_and_description() {
    let team = team(&pdf()).await;
    let call = TestTeam::call();
    let page = team
        .gateway
        .list(&call, None, &Filter::default())
        .await
        .unwrap();
    let entries = page.items.iter().map(|entry| {
        let description = entry.description.as_deref().unwrap_or_default();
        format!("{} {description}", entry.name)
    });
    assert_eq!(
        entries.collect::<Vec<_>>(),
        [
            "skill://other ",
            "pdf Does pdf",
            "skill://pdf/scripts/fill.py "
        ]
    );
}

#[tokio::test]
async fn reads_return_the_snapshot_until_a_new_one_is_published() {
    let content = pdf();
    let mut team = team(&content).await;
    let _ = content
        .clone()
        .with_text("skill://pdf/SKILL.md", &skill_md("pdf", "two"));
    let of = "skill://pdf/SKILL.md";
    assert_eq!(read(&team, of).await, skill_md("pdf", "one"));
    assert_eq!(skills(&team.gateway, &TestTeam::call()).await, [PDF]);
    let watch = team.gateway.watch(&TestTeam::caller());
    watch.watch_list(true);
    watch.add(uri(of));
    team.report_change(&ProviderName::parse("wiki").unwrap())
        .await;
    assert_eq!(read(&team, of).await, skill_md("pdf", "two"));
    let expected = [catalog::Change::List, catalog::Change::Updated(uri(of))];
    assert_eq!(watch.take(), expected);
    team.report_change(&ProviderName::parse("wiki").unwrap())
        .await;
    assert_eq!(watch.take(), [], "nothing changed");
    let version = read_version(&team, of).await;
    let again = team
        .gateway
        .read(&TestTeam::call(), &uri(of), version.as_deref())
        .await;
    assert!(matches!(again, Err(Error::NotModified { .. })));
}

async fn read_version(team: &TestTeam, of: &str) -> Option<String> {
    let result = team.gateway.read(&TestTeam::call(), &uri(of), None).await;
    result.unwrap().version
}

#[tokio::test]
async fn a_file_that_changes_while_it_is_read_is_never_published() {
    let content = pdf();
    let mut team = team(&content).await;
    // The second read of each file returns another text than the first one.
    let unstable = content.clone().unstable();
    team.report_change(&ProviderName::parse("wiki").unwrap())
        .await;
    assert_eq!(
        read(&team, "skill://pdf/SKILL.md").await,
        skill_md("pdf", "one")
    );
    assert_eq!(skills(&team.gateway, &TestTeam::call()).await, [PDF]);
    // Without an older snapshot, the folder is no skill, and the reason is reported.
    let team = self::team(&unstable).await;
    assert!(skills(&team.gateway, &TestTeam::call()).await.is_empty());
    assert_eq!(
        problems(&team),
        [
            "skill://pdf/SKILL.md is not a skill: `skill://pdf/SKILL.md` changed each time it was read"
        ]
    );
}

#[tokio::test]
async fn files_of_two_states_are_never_mixed() {
    let content = pdf().versioned();
    let mut team = team(&content).await;
    // Both files change, but the list of the catalog is still the old one.
    let new = content
        .clone()
        .with_text("skill://pdf/SKILL.md", &skill_md("pdf", "two"))
        .with_text("skill://pdf/new.md", "new");
    let calls = content.calls().len();
    team.report_change(&ProviderName::parse("wiki").unwrap())
        .await;
    assert_eq!(
        content.calls().len(),
        calls,
        "the list has the known versions"
    );
    assert_eq!(
        read(&team, "skill://pdf/SKILL.md").await,
        skill_md("pdf", "one")
    );
    team.serve([new.provider("wiki", grant())]).await;
    assert_eq!(
        skills(&team.gateway, &TestTeam::call()).await,
        [
            "skill://pdf/SKILL.md: skill://pdf/SKILL.md skill://pdf/new.md skill://pdf/scripts/fill.py"
        ]
    );
}

#[tokio::test]
async fn a_file_that_is_gone_keeps_the_old_snapshot_until_the_list_says_so() {
    let content = pdf();
    let mut team = team(&content).await;
    content.remove("skill://pdf/scripts/fill.py");
    team.report_change(&ProviderName::parse("wiki").unwrap())
        .await;
    assert_eq!(skills(&team.gateway, &TestTeam::call()).await, [PDF]);
    team.serve([content.provider("wiki", grant())]).await;
    assert_eq!(
        skills(&team.gateway, &TestTeam::call()).await,
        ["skill://pdf/SKILL.md: skill://pdf/SKILL.md"]
    );
}

#[tokio::test]
async fn folders_that_are_not_skills_are_reported() {
    let content = pdf()
        .with_text("skill://doc/SKILL.md", &skill_md("word", ""))
        .with_text("skill://bare/SKILL.md", "# No front matter")
        .with_text(
            "skill://bomb/SKILL.md",
            "---\nname: bomb\na: &a [x]\nb: *a\n---\n",
        )
        .with_text("skill://up/SKILL.md", &skill_md("up", ""))
        .with_text("skill://up/../etc/passwd", "root")
        .with_text("skill://pdf/inner/SKILL.md", &skill_md("inner", ""));
    let many = (0..600).fold(content, |content, n| {
        content.with_text(&format!("skill://many/{n}"), "")
    });
    let many = many.with_text("skill://many/SKILL.md", &skill_md("many", ""));
    let team = team(&many).await;
    assert_eq!(
        skills(&team.gateway, &TestTeam::call()).await,
        [
            "skill://pdf/SKILL.md: skill://pdf/SKILL.md skill://pdf/inner/SKILL.md skill://pdf/scripts/fill.py",
            "skill://pdf/inner/SKILL.md: skill://pdf/inner/SKILL.md",
        ],
        "a skill inside a skill has an entry of its own"
    );
    assert_eq!(
        problems(&team),
        [
            "skill://bare/SKILL.md is not a skill: it does not begin with front matter between two lines `---`",
            "skill://bomb/SKILL.md is not a skill: its front matter cannot be read: it has an anchor, an alias or a tag: write the value itself",
            "skill://doc/SKILL.md is not a skill: its name is `word`, but its folder is `doc`: both must be the same",
            "skill://many/SKILL.md is not a skill: it has more than 512 files",
            "skill://up/SKILL.md is not a skill: `skill://up/../etc/passwd` has a part `.` or `..`",
        ]
    );
}

#[tokio::test]
async fn skills_beyond_the_catalog_are_offered() {
    let mut grant = grant();
    grant.limits.catalog_entries = 2;
    grant.limits.page_entries = 2;
    let zip = "skill://zip/SKILL.md";
    let content = pdf()
        .with_text("skill://zip/LICENSE", "MIT")
        .with_text(zip, &skill_md("zip", ""))
        .with_text("skill://zip/a/b.txt", "b");
    let mut team = TestTeam::new([content.provider("wiki", grant)], 10).await;
    let expected = |files: &str| {
        let zip = format!("{zip}: skill://zip/LICENSE {zip} skill://zip/a/b.txt{files}");
        [PDF.to_owned(), zip]
    };
    let call = TestTeam::call();
    assert_eq!(skills(&team.gateway, &call).await, expected(""));
    let folder = uri("skill://zip");
    let page = team.gateway.directory(&call, &folder, None).await.unwrap();
    let children: Vec<_> = page.items.iter().map(|entry| &*entry.name).collect();
    assert_eq!(children, ["skill://zip/LICENSE", "zip", "a"]);

    let _ = content.clone().with_text("skill://zip/c.txt", "c");
    let with_new_file = expected(" skill://zip/c.txt");
    // A long list is not requested again at once.
    let is_offered = async {
        while skills(&team.gateway, &call).await != with_new_file {
            tokio::time::sleep(Duration::from_millis(5)).await;
            team.report_change(&ProviderName::parse("wiki").unwrap())
                .await;
        }
    };
    let offered = tokio::time::timeout(Duration::from_secs(60), is_offered).await;
    offered.expect("the new file is offered");
}

#[tokio::test(start_paused = true)]
async fn a_list_without_an_end_has_no_skills() {
    let mut grant = grant();
    grant.limits.catalog_entries = 2;
    let content = pdf().with_endless_list();
    let team = TestTeam::new([content.provider("wiki", grant)], 10).await;
    assert!(skills(&team.gateway, &TestTeam::call()).await.is_empty());
    assert_eq!(
        problems(&team),
        [
            "skill://pdf/SKILL.md is not a skill: the list of its provider has too many pages or too many files of skills"
        ]
    );
}

#[tokio::test]
async fn pages_have_whole_skills() {
    let content = ["a", "b", "c", "d", "e"]
        .into_iter()
        .fold(FakeContent::default(), |content, name| {
            content.with_text(&format!("skill://{name}/SKILL.md"), &skill_md(name, ""))
        });
    let team = TestTeam::new([content.provider("wiki", grant())], 2).await;
    let call = TestTeam::call();
    let mut names = Vec::new();
    let mut cursor = None;
    let mut pages = 0;
    loop {
        let page = team.gateway.skills(&call, cursor.as_deref()).await.unwrap();
        names.extend(page.items.iter().map(|skill| skill.entry.name.clone()));
        pages += 1;
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!((names.join(" ").as_str(), pages), ("a b c d e", 3));
    let error = team.gateway.skills(&call, Some("x")).await.unwrap_err();
    assert_eq!(error, Error::BadCursor);
}

/// Two teams, whose providers have these contents.
async fn two_teams(first: &FakeContent, second: &FakeContent) -> Gateway {
    let mut teams = Vec::new();
    for (name, content) in [("alpha", first), ("beta", second)] {
        let team = TeamName::parse(name).unwrap();
        let (mut writer, reader) = catalog::catalog(team.clone(), 100, EventLog::default());
        let provider: Arc<dyn Provider> = content.provider_of_team(team, "wiki", grant());
        let offer = Arc::new(test_team::offer(provider).await);
        writer.publish(Catalog::new(vec![offer], vec![], vec![]));
        let (signals, _) = signal_channel();
        let skills = writer.skill_writer();
        let mut follower = SkillFollower::new(&reader, skills, &signals, &Drain::new());
        follower.build_once().await;
        teams.push(TeamParts::new(reader, signals));
    }
    Gateway::new(test_team::config(10), teams, MemoryBudget::unlimited())
}

fn member_of(teams: &[&str]) -> Arc<Call> {
    let teams = teams.iter().map(|name| TeamName::parse(name).unwrap());
    Arc::new(Call::from_caller(Caller {
        teams: Teams::of(teams).unwrap(),
        ..TestTeam::caller()
    }))
}

#[tokio::test]
async fn skills_of_two_teams_do_not_disturb_each_other() {
    let one = FakeContent::default()
        .with_text("skill://pdf/SKILL.md", &skill_md("pdf", "alpha"))
        .with_text("skill://pdf/a", "");
    let other = FakeContent::default()
        .with_text("skill://pdf/SKILL.md", &skill_md("pdf", "beta"))
        .with_text("skill://pdf/b", "")
        .with_text("skill://beta/pdf/SKILL.md", &skill_md("pdf", "beta"));
    let gateway = two_teams(&one, &other).await;
    let alpha = "skill://pdf/SKILL.md: skill://pdf/SKILL.md skill://pdf/a";
    let beta = "skill://pdf/SKILL.md: skill://pdf/SKILL.md skill://pdf/b";
    let own = "skill://beta/pdf/SKILL.md: skill://beta/pdf/SKILL.md";
    assert_eq!(skills(&gateway, &member_of(&["alpha"])).await, [alpha]);
    assert_eq!(skills(&gateway, &member_of(&["beta"])).await, [own, beta]);
    assert_eq!(
        skills(&gateway, &member_of(&["alpha", "beta"])).await,
        [alpha, own],
        "a skill of which an earlier team has a file is not offered"
    );
    let stranger = member_of(&["alpha"]);
    let result = gateway
        .skill(&stranger, &uri("skill://beta/pdf/SKILL.md"))
        .await;
    assert!(matches!(result, Err(Error::UnknownSkill { .. })));
}
