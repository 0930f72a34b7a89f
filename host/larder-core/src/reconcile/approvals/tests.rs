use super::*;

fn lines(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|&line| line.to_owned()).collect()
}

fn pending(provider: &str, names: &[&str]) -> PendingApprovalRecord {
    let provider = ProviderName::parse(provider).unwrap();
    PendingApprovalRecord::new(&TeamName::default_team(), &provider, Digest::of(b"revision"), lines(names))
}

fn unapproved(
    approvals: &Approvals,
    provider: &str,
    names: &[&str],
) -> Result<BTreeSet<String>, ApprovalsError> {
    approvals.unapproved(&TeamName::default_team(), &ProviderName::parse(provider).unwrap(), &lines(names))
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
    assert_eq!(unapproved(&approvals, "wiki", &["a", "b"]).unwrap(), lines(&["a", "b"]));
    approvals.approve(&pending("wiki", &["a"]), "me").unwrap();
    assert_eq!(unapproved(&approvals, "wiki", &["a", "b"]).unwrap(), lines(&["b"]));
    assert_eq!(unapproved(&approvals, "other", &["a"]).unwrap(), lines(&["a"]));
    let elsewhere = folder.approvals("/q");
    assert_eq!(unapproved(&elsewhere, "wiki", &["a"]).unwrap(), lines(&["a"]));
    let text = std::fs::read_to_string(approvals.file()).unwrap();
    assert!(text.contains(r#""by": "me""#) && text.contains(r#""at": "2"#), "{text}");
}

#[test]
fn an_approval_for_a_digest_holds_for_that_component_only() {
    let folder = TestFolder::new();
    let approvals = folder.approvals("/p");
    let (team, wiki) = (TeamName::default_team(), ProviderName::parse("wiki").unwrap());
    let of = |content: &[u8]| PendingApprovalRecord::new(&team, &wiki, Digest::of(content), lines(&["a"]));
    let approved = |content: &[u8]| {
        let digest = Some(Digest::of(content));
        approvals.unapproved_for((&team, &wiki, digest), &lines(&["a"])).unwrap().is_empty()
    };
    approvals.approve_for(ApprovalScope::Digest, &of(b"1"), "me").unwrap();
    assert!(approved(b"1") && !approved(b"2"));
    assert_eq!(unapproved(&approvals, "wiki", &["a"]).unwrap(), lines(&["a"]));
    // A rollback to an approved component needs no further approval.
    approvals.approve_for(ApprovalScope::Digest, &of(b"2"), "me").unwrap();
    assert!(approved(b"1") && approved(b"2") && !approved(b"3"));
    approvals.approve(&of(b"3"), "me").unwrap();
    assert!(approved(b"3") && approved(b"4"));
    // An approval for every component is not narrowed by accident.
    approvals.approve_for(ApprovalScope::Digest, &of(b"5"), "me").unwrap();
    assert!(approved(b"6"));
}

#[test]
fn pending_returns_the_last_recorded_set() {
    let folder = TestFolder::new();
    let approvals = folder.approvals("/p");
    assert_eq!(approvals.pending().unwrap(), []);
    let (wiki, docs) = (pending("wiki", &["a"]), pending("docs", &["b"]));
    approvals.set_pending(vec![wiki.clone(), docs.clone()]).unwrap();
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
    for damaged in ["", "{", "[]", "null", &whole[..whole.len() / 2], &whole.replace("\"by\"", "\"bi\"")] {
        std::fs::write(approvals.file(), damaged).unwrap();
        let error = unapproved(&approvals, "wiki", &["a"]).unwrap_err();
        assert!(matches!(error, ApprovalsError::Damaged { .. }), "{damaged:?}: {error}");
        assert!(approvals.approve(&pending("wiki", &["b"]), "me").is_err(), "{damaged:?}");
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

#[cfg(unix)]
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
        assert!(matches!(unapproved(&approvals, "wiki", &["a"]), Err(ApprovalsError::Untrusted { .. })));
        std::fs::set_permissions(path, PermissionsExt::from_mode(open & 0o700)).unwrap();
    }
    assert!(unapproved(&approvals, "wiki", &["a"]).unwrap().is_empty());
}
