use super::*;

fn lines(some: &[&str]) -> BTreeSet<String> {
    some.iter().map(|&line| line.to_owned()).collect()
}

fn held(provider: &str, some: &[&str]) -> Held {
    let provider = ProviderName::parse(provider).unwrap();
    Held::new(&TeamName::sole(), &provider, Digest::of(b"revision"), lines(some))
}

fn missing(approvals: &Approvals, provider: &str, some: &[&str]) -> Result<BTreeSet<String>, ApprovalsError> {
    approvals.missing(&TeamName::sole(), &ProviderName::parse(provider).unwrap(), &lines(some))
}

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn approvals(&self, plugins: &str) -> Approvals {
        Approvals::new(&self.0.path().join("above/state"), Path::new(plugins))
    }
}

#[test]
fn only_what_was_shown_is_approved() {
    let place = Place::new();
    let approvals = place.approvals("/p");
    assert_eq!(missing(&approvals, "wiki", &["a", "b"]).unwrap(), lines(&["a", "b"]));
    approvals.approve(&held("wiki", &["a"]), "me").unwrap();
    assert_eq!(missing(&approvals, "wiki", &["a", "b"]).unwrap(), lines(&["b"]));
    assert_eq!(missing(&approvals, "other", &["a"]).unwrap(), lines(&["a"]));
    let elsewhere = place.approvals("/q");
    assert_eq!(missing(&elsewhere, "wiki", &["a"]).unwrap(), lines(&["a"]));
    let text = std::fs::read_to_string(approvals.file()).unwrap();
    assert!(text.contains(r#""by": "me""#) && text.contains(r#""at": "2"#), "{text}");
}

#[test]
fn what_is_held_back_is_what_was_said_last() {
    let place = Place::new();
    let approvals = place.approvals("/p");
    assert_eq!(approvals.held().unwrap(), []);
    let (wiki, docs) = (held("wiki", &["a"]), held("docs", &["b"]));
    approvals.hold(vec![wiki.clone(), docs.clone()]).unwrap();
    place.approvals("/q").hold(vec![]).unwrap();
    assert_eq!(approvals.held().unwrap(), [docs.clone(), wiki.clone()]);
    approvals.approve(&wiki, "me").unwrap();
    assert_eq!(approvals.held().unwrap(), [docs]);
    approvals.hold(vec![]).unwrap();
    assert_eq!(approvals.held().unwrap(), []);
}

#[test]
fn a_damaged_file_approves_nothing_and_is_not_written_over() {
    let place = Place::new();
    let approvals = place.approvals("/p");
    approvals.approve(&held("wiki", &["a"]), "me").unwrap();
    let whole = std::fs::read_to_string(approvals.file()).unwrap();
    for damaged in ["", "{", "[]", "null", &whole[..whole.len() / 2], &whole.replace("\"by\"", "\"bi\"")] {
        std::fs::write(approvals.file(), damaged).unwrap();
        let error = missing(&approvals, "wiki", &["a"]).unwrap_err();
        assert!(matches!(error, ApprovalsError::Damaged { .. }), "{damaged:?}: {error}");
        assert!(approvals.approve(&held("wiki", &["b"]), "me").is_err(), "{damaged:?}");
        assert_eq!(std::fs::read_to_string(approvals.file()).unwrap(), damaged);
    }
}

#[test]
fn none_of_many_at_once_is_lost() {
    let place = Place::new();
    let approvals = place.approvals("/p");
    let names: Vec<_> = (0..32).map(|n| format!("line {n}")).collect();
    std::thread::scope(|scope| {
        for name in &names {
            scope.spawn(|| approvals.approve(&held("wiki", &[name]), "me").unwrap());
        }
    });
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    assert_eq!(missing(&approvals, "wiki", &names).unwrap(), lines(&[]));
}

#[cfg(unix)]
#[test]
fn others_can_neither_read_nor_write() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let approvals = place.approvals("/p");
    approvals.approve(&held("wiki", &["a"]), "me").unwrap();
    let file = approvals.file();
    let folder = file.parent().unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(folder), mode(&file)), (0o700, 0o600));
    for (path, open) in [(folder, 0o770), (&file, 0o666)] {
        std::fs::set_permissions(path, PermissionsExt::from_mode(open)).unwrap();
        assert!(matches!(missing(&approvals, "wiki", &["a"]), Err(ApprovalsError::Open(_))));
        std::fs::set_permissions(path, PermissionsExt::from_mode(open & 0o700)).unwrap();
    }
    assert!(missing(&approvals, "wiki", &["a"]).unwrap().is_empty());
}
