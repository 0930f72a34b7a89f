use super::*;

fn lines(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|&line| line.to_owned()).collect()
}

fn pending(provider: &str, names: &[&str]) -> PendingApprovalRecord {
    let provider = ProviderName::parse(provider).unwrap();
    PendingApprovalRecord::new(
        &TeamName::default_team(),
        &provider,
        Digest::of(b"revision"),
        lines(names),
    )
}

fn unapproved(
    approvals: &Approvals,
    provider: &str,
    names: &[&str],
) -> Result<BTreeSet<String>, ApprovalsError> {
    approvals.unapproved(
        &TeamName::default_team(),
        &ProviderName::parse(provider).unwrap(),
        &lines(names),
    )
}

struct TestFolder(tempfile::TempDir);

impl TestFolder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn approvals(&self, plugins: &str) -> Approvals {
        Approvals::new(&self.0.path().join("above/state"), Path::new(plugins))
    }
}

#[test]
fn approves_only_the_listed_lines() {
    let folder = TestFolder::new();
    let approvals = folder.approvals("/p");
    assert_eq!(
        unapproved(&approvals, "wiki", &["a", "b"]).unwrap(),
        lines(&["a", "b"])
    );
    approvals.approve(&pending("wiki", &["a"]), "me").unwrap();
    assert_eq!(
        unapproved(&approvals, "wiki", &["a", "b"]).unwrap(),
        lines(&["b"])
    );
    assert_eq!(
        unapproved(&approvals, "other", &["a"]).unwrap(),
        lines(&["a"])
    );
    let elsewhere = folder.approvals("/q");
    assert_eq!(
        unapproved(&elsewhere, "wiki", &["a"]).unwrap(),
        lines(&["a"])
    );
    let text = std::fs::read_to_string(approvals.file()).unwrap();
    assert!(
        text.contains(r#""by": "me""#) && text.contains(r#""at": "2"#),
        "{text}"
    );
}

#[test]
fn an_approval_for_a_digest_holds_for_that_component_only() {
    let folder = TestFolder::new();
    let approvals = folder.approvals("/p");
    let team = TeamName::default_team();
    let wiki = ProviderName::parse("wiki").unwrap();
    let of = |content: &[u8]| {
        PendingApprovalRecord::new(&team, &wiki, Digest::of(content), lines(&["a"]))
    };
    let approved = |content: &[u8]| {
        let digest = Some(Digest::of(content));
        approvals
            .unapproved_for(&team, &wiki, digest, &lines(&["a"]))
            .unwrap()
            .is_empty()
    };
    approvals
        .approve_for(ApprovalScope::Digest, &of(b"1"), "me")
        .unwrap();
    assert!(approved(b"1") && !approved(b"2"));
    assert_eq!(
        unapproved(&approvals, "wiki", &["a"]).unwrap(),
        lines(&["a"])
    );
    // A rollback to an approved component needs no further approval.
    approvals
        .approve_for(ApprovalScope::Digest, &of(b"2"), "me")
        .unwrap();
    assert!(approved(b"1") && approved(b"2") && !approved(b"3"));
    approvals.approve(&of(b"3"), "me").unwrap();
    assert!(approved(b"3") && approved(b"4"));
    // An approval for every component stays an approval for every component.
    approvals
        .approve_for(ApprovalScope::Digest, &of(b"5"), "me")
        .unwrap();
    assert!(approved(b"6"));
}

#[test]
fn pins_of_a_provider_of_the_same_name_in_another_folder_count() {
    let folder = TestFolder::new();
    let team = TeamName::default_team();
    let wiki = ProviderName::parse("wiki").unwrap();
    let pins = |digest: &str| Pins::from([("find".to_owned(), digest.to_owned())]);
    let of = |plugins: &str| {
        folder
            .approvals(plugins)
            .pins(PinKind::Tool, &team, &wiki)
            .unwrap()
    };
    assert_eq!(of("/p"), None, "nobody knows the provider");
    folder
        .approvals("/p")
        .pin(PinKind::Tool, &team, &wiki, &pins("1"))
        .unwrap();
    assert_eq!(
        of("/q"),
        Some(pins("1")),
        "the folder may have been renamed"
    );
    folder
        .approvals("/q")
        .pin(PinKind::Tool, &team, &wiki, &pins("2"))
        .unwrap();
    assert_eq!((of("/p"), of("/q")), (Some(pins("1")), Some(pins("2"))));
    // If two folders pin different definitions, the definition is unknown.
    assert_eq!(of("/r"), Some(pins("")));
    assert_eq!(
        folder
            .approvals("/r")
            .pins(PinKind::Tool, &TeamName::parse("other").unwrap(), &wiki)
            .unwrap(),
        None
    );
    let served = Imports::from([("wiki".to_owned(), lines(&["import wasi:http"]))]);
    folder
        .approvals("/p")
        .record_served(&team, &served, &OfferRecords::new())
        .unwrap();
    assert_eq!(
        folder.approvals("/q").last_served(&team, &wiki).unwrap(),
        Some(lines(&["import wasi:http"]))
    );
}

#[test]
fn imports_of_a_provider_of_the_same_name_in_another_project_do_not_count() {
    let folder = TestFolder::new();
    let team = TeamName::default_team();
    let wiki = ProviderName::parse("wiki").unwrap();
    let project = folder.0.path().join("project");
    std::fs::create_dir(&project).unwrap();
    let served = Imports::from([("wiki".to_owned(), lines(&["import wasi:http"]))]);
    let other = folder.approvals(project.to_str().unwrap());
    other
        .record_served(&team, &served, &OfferRecords::new())
        .unwrap();
    assert_eq!(
        folder.approvals("/q").last_served(&team, &wiki).unwrap(),
        None
    );
    std::fs::rename(&project, folder.0.path().join("renamed")).unwrap();
    assert_eq!(
        folder.approvals("/q").last_served(&team, &wiki).unwrap(),
        Some(served["wiki"].clone())
    );
}

#[test]
fn pins_are_never_removed_for_those_of_other_providers() {
    let folder = TestFolder::new();
    let approvals = folder.approvals("/p");
    let team = TeamName::default_team();
    let pins = Pins::new();
    let providers: BTreeMap<_, _> = (0..MAX_REMEMBERED_PROVIDERS)
        .map(|n| (n.to_string(), Pins::new()))
        .collect();
    let full = BTreeMap::from([("/p", BTreeMap::from([("default", providers)]))]);
    approvals
        .set_pending(vec![pending("wiki", &["a"])])
        .unwrap();
    std::fs::write(
        approvals.store.path("tools.json"),
        serde_json::to_vec(&full).unwrap(),
    )
    .unwrap();
    let error = approvals
        .pin(
            PinKind::Tool,
            &team,
            &ProviderName::parse("wiki").unwrap(),
            &pins,
        )
        .unwrap_err();
    assert!(matches!(error, ApprovalsError::Full { .. }), "{error}");
    approvals
        .pin(
            PinKind::Tool,
            &team,
            &ProviderName::parse("0").unwrap(),
            &pins,
        )
        .unwrap();
}

#[test]
fn what_a_key_has_stays_when_it_takes_over_from_another() {
    let folder = TestFolder::new();
    let p = folder.approvals("/p");
    let q = folder.approvals("/q");
    p.approve(&pending("wiki", &["a", "b"]), "me").unwrap();
    p.set_pending(vec![pending("docs", &["c"])]).unwrap();
    q.approve_for(ApprovalScope::Digest, &pending("wiki", &["a"]), "you")
        .unwrap();
    assert_eq!(
        q.used_instead([StateKey::from_text("/p")]).unwrap(),
        None,
        "it has something itself"
    );
    let r = folder.approvals("/r");
    let used = r
        .used_instead(["/none", "/p"].map(StateKey::from_text))
        .unwrap();
    assert_eq!(used, Some(StateKey::from_text("/p")));
    r.take_over(used.as_ref()).unwrap();
    assert!(r.is_known().unwrap() && unapproved(&r, "wiki", &["a", "b"]).unwrap().is_empty());
    assert_eq!(p.pending().unwrap(), r.pending().unwrap());
    q.move_from(p.key()).unwrap();
    // The own approval of this provider is for one component only.
    assert_eq!(unapproved(&q, "wiki", &["a", "b"]).unwrap(), lines(&["a"]));
    assert_eq!(p.pending().unwrap(), []);
}

#[test]
fn pending_returns_the_last_recorded_set() {
    let folder = TestFolder::new();
    let approvals = folder.approvals("/p");
    assert_eq!(approvals.pending().unwrap(), []);
    let wiki = pending("wiki", &["a"]);
    let docs = pending("docs", &["b"]);
    approvals
        .set_pending(vec![wiki.clone(), docs.clone()])
        .unwrap();
    folder.approvals("/q").set_pending(vec![]).unwrap();
    assert_eq!(approvals.pending().unwrap(), [docs.clone(), wiki.clone()]);
    approvals.approve(&wiki, "me").unwrap();
    assert_eq!(approvals.pending().unwrap(), [docs]);
    approvals.set_pending(vec![]).unwrap();
    assert_eq!(approvals.pending().unwrap(), []);
}

#[test]
fn rejects_a_damaged_file_and_does_not_overwrite_it() {
    let folder = TestFolder::new();
    let approvals = folder.approvals("/p");
    approvals.approve(&pending("wiki", &["a"]), "me").unwrap();
    let whole = std::fs::read_to_string(approvals.file()).unwrap();
    for damaged in [
        "",
        "{",
        "[]",
        "null",
        &whole[..whole.len() / 2],
        &whole.replace("\"by\"", "\"bi\""),
    ] {
        std::fs::write(approvals.file(), damaged).unwrap();
        let error = unapproved(&approvals, "wiki", &["a"]).unwrap_err();
        assert!(
            matches!(error, ApprovalsError::Damaged { .. }),
            "{damaged:?}: {error}"
        );
        assert!(
            approvals.approve(&pending("wiki", &["b"]), "me").is_err(),
            "{damaged:?}"
        );
        assert_eq!(std::fs::read_to_string(approvals.file()).unwrap(), damaged);
    }
}

#[test]
fn concurrent_approvals_are_all_kept() {
    let folder = TestFolder::new();
    let approvals = folder.approvals("/p");
    let names: Vec<_> = (0..32).map(|n| format!("line {n}")).collect();
    std::thread::scope(|scope| {
        for name in &names {
            scope.spawn(|| approvals.approve(&pending("wiki", &[name]), "me").unwrap());
        }
    });
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    assert_eq!(unapproved(&approvals, "wiki", &names).unwrap(), lines(&[]));
}

#[test]
fn files_are_private_to_the_owner() {
    use std::os::unix::fs::PermissionsExt;
    let folder = TestFolder::new();
    let approvals = folder.approvals("/p");
    approvals.approve(&pending("wiki", &["a"]), "me").unwrap();
    let file = approvals.file();
    let folder = file.parent().unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(folder), mode(&file)), (0o700, 0o600));
    for (path, open) in [(folder, 0o770), (&file, 0o666)] {
        std::fs::set_permissions(path, PermissionsExt::from_mode(open)).unwrap();
        assert!(matches!(
            unapproved(&approvals, "wiki", &["a"]),
            Err(ApprovalsError::Untrusted { .. })
        ));
        std::fs::set_permissions(path, PermissionsExt::from_mode(open & 0o700)).unwrap();
    }
    assert!(unapproved(&approvals, "wiki", &["a"]).unwrap().is_empty());
}
