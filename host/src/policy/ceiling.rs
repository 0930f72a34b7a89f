//! How far the grants of a team may go, whoever wrote or approved them.

use std::collections::{BTreeMap, BTreeSet};

use super::{Access, Ask, Dir, Grant, HostRule, Secrets, granted};

/// What a team's providers may have at most, and the secrets that they may be given.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ceiling {
    /// None where the operator's grants are all that bounds them: without teams.
    pub bounds: Option<Bounds>,
    /// With their texts.
    pub secrets: Secrets,
}

/// What a team's providers may have. Empty is nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bounds {
    /// Folders, with all that is in them, by their real paths.
    pub dirs: Vec<Dir>,
    /// Places for HTTP requests.
    pub hosts: Vec<HostRule>,
    /// Variables.
    pub env: BTreeSet<String>,
}

/// What is left of something, and the lines that were cut off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut<T> {
    /// What is below the ceiling.
    pub left: T,
    /// What is not.
    pub off: BTreeSet<String>,
}

impl Ceiling {
    /// What an operator's grant is below this ceiling.
    pub fn cut(&self, grant: &Grant) -> Cut<Grant> {
        let (mut left, mut dirs) = (grant.clone(), Vec::new());
        if let Some(bounds) = &self.bounds {
            left.dirs.retain(|dir| bounds.real_dir(dir).map(|dir| dirs.push(dir)).is_some());
            left.hosts.retain(|rule| bounds.has_host(rule));
            left.env.retain(|name, _| bounds.env.contains(name));
        }
        let kept = grant.secrets.iter().filter_map(|(name, _)| Some((name, self.secrets.get(name)?)));
        left.secrets = kept.map(|(name, secret)| (name.clone(), secret.clone())).collect();
        let off = &granted(grant) - &granted(&left);
        if self.bounds.is_some() {
            // What was looked at is what is opened: a link that takes its place later is not followed.
            left.dirs = dirs;
        }
        Cut { left, off }
    }

    /// What an ask is below this ceiling, with the texts of the secrets that it names.
    pub fn cut_ask(&self, ask: Ask) -> Cut<Ask> {
        let all = ask.lines();
        let mut left = ask;
        if let Some(bounds) = &self.bounds {
            // Each is a real path already: one that leads elsewhere by now is cut off here, or not opened.
            left.dirs.retain(|dir| bounds.real_dir(dir).is_some());
            left.hosts.retain(|rule| bounds.has_host(rule));
            left.env.retain(|name, _| bounds.env.contains(name));
        }
        let named = std::mem::take(&mut left.secrets).into_keys();
        let known = named.filter_map(|name| Some((self.secrets.get(&name)?.clone(), name)));
        left.secrets = known.map(|(secret, name)| (name, Some(secret))).collect::<BTreeMap<_, _>>();
        let off = &all - &left.lines();
        Cut { left, off }
    }
}

impl Bounds {
    /// A folder that may be had, by its real path: where a path leads, not what it is called, is what counts.
    fn real_dir(&self, asked: &Dir) -> Option<Dir> {
        let real = asked.host.canonicalize().ok()?;
        let covers = |dir: &Dir| {
            let may = dir.access == Access::Write || asked.access == Access::Read;
            may && real.starts_with(&dir.host)
        };
        self.dirs.iter().any(covers).then(|| Dir { host: real.clone(), is_real: true, ..asked.clone() })
    }

    fn has_host(&self, asked: &HostRule) -> bool {
        self.hosts.iter().any(|rule| rule.includes(asked))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Secret;
    use super::*;

    fn rule(host: &str) -> HostRule {
        HostRule { scheme: None, host: host.into(), port: None, methods: None, private: false }
    }

    #[test]
    fn grants_and_asks_are_cut_in_the_same_way() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        for name in ["own/docs", "others"] {
            std::fs::create_dir_all(real.join(name)).unwrap();
        }
        std::os::unix::fs::symlink("../others", real.join("own/link")).unwrap();
        let dir = |name: &str, access| Dir {
            host: real.join(name),
            guest: format!("/{name}"),
            access,
            is_real: false,
        };
        let secrets: Secrets = [("ours", "hush"), ("other", "hush")]
            .map(|(name, text)| (name.to_owned(), Secret::new(text)))
            .into_iter()
            .collect();
        let grant = Grant {
            env: ["HOME", "PATH"].map(|name| (name.to_owned(), "x".to_owned())).into(),
            dirs: ["own/docs", "own/link", "others", "own/gone"].map(|name| dir(name, Access::Read)).into(),
            hosts: vec![rule("a.example.com"), rule("example.org")],
            secrets,
            ..Grant::default()
        };
        let ceiling = Ceiling {
            bounds: Some(Bounds {
                dirs: vec![dir("own", Access::Read)],
                hosts: vec![rule("*.example.com")],
                env: ["HOME".to_owned()].into(),
            }),
            secrets: [("ours".to_owned(), Secret::new("hush"))].into_iter().collect(),
        };
        let asked = ceiling.cut_ask(Ask::for_all_of(&grant));
        let cut = ceiling.cut(&grant);
        assert_eq!(asked.off, cut.off);
        assert_eq!(asked.left.lines(), granted(&cut.left));
        let words = |lines: &BTreeSet<String>| -> Vec<String> {
            let path = format!("{}/", real.display());
            lines.iter().map(|line| line.replace(&path, "").replace(" as", "").replace('/', "-")).collect()
        };
        let expected = [
            "folder own-docs -own-docs, read",
            "http https:--a.example.com GET,HEAD",
            "secret ours",
            "variable HOME",
        ];
        assert_eq!(words(&granted(&cut.left)), expected);
        assert_eq!(cut.off.len(), 6, "{:?}", cut.off);
        let writes = Grant { dirs: vec![dir("own/docs", Access::Write)], ..Grant::default() };
        assert!(ceiling.cut(&writes).left.dirs.is_empty());
        let through = real.join("own/again");
        std::os::unix::fs::symlink("docs", &through).unwrap();
        let linked = Dir { host: through, ..dir("own/docs", Access::Read) };
        let left = ceiling.cut(&Grant { dirs: vec![linked], ..Grant::default() }).left.dirs;
        assert_eq!(
            left,
            [Dir { is_real: true, ..dir("own/docs", Access::Read) }],
            "what is looked at is opened"
        );
    }

    #[test]
    fn without_bounds_only_unknown_secrets_are_cut() {
        let ask = Ask {
            hosts: vec![rule("a.example.com")],
            secrets: [("gone".to_owned(), None)].into(),
            ..Ask::default()
        };
        let cut = Ceiling::default().cut_ask(ask);
        assert_eq!(cut.left.lines().len(), 1);
        assert_eq!(cut.off.into_iter().collect::<Vec<_>>(), ["secret gone"]);
    }
}
