//! Which tools and prompts of a component its clients can use.

use std::collections::BTreeSet;

/// The granted tools of a component.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ToolGrant {
    /// None of the component's tools.
    #[default]
    None,
    /// The tools of the component when it is first served.
    All,
    /// The tools with these names.
    Names(BTreeSet<String>),
}

impl ToolGrant {
    /// Whether no tool is granted.
    pub fn is_none(&self) -> bool {
        match self {
            Self::None => true,
            Self::All => false,
            Self::Names(names) => names.is_empty(),
        }
    }

    /// Whether the tool with this name is granted.
    pub fn allows(&self, name: &str) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::Names(names) => names.contains(name),
        }
    }

    /// Whether the grant names this tool, instead of granting all tools.
    pub fn names(&self, name: &str) -> bool {
        matches!(self, Self::Names(names) if names.contains(name))
    }

    /// The tools that both grants allow.
    pub(super) fn intersection(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::None, _) | (_, Self::None) => Self::None,
            (Self::All, some) | (some, Self::All) => some.clone(),
            (Self::Names(some), Self::Names(others)) => Self::Names(some & others),
        }
    }

    /// The tools that one of the grants allows.
    pub(super) fn union(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::None, some) | (some, Self::None) => some.clone(),
            (Self::All, _) | (_, Self::All) => Self::All,
            (Self::Names(some), Self::Names(others)) => Self::Names(some | others),
        }
    }

    /// The tools of this grant that the other grant does not allow, as lines.
    pub(super) fn lines_beyond(&self, other: &Self) -> Vec<String> {
        match self {
            Self::None => vec![],
            Self::All if *other == Self::All => vec![],
            Self::All => vec!["all tools".to_owned()],
            Self::Names(names) => names
                .iter()
                .filter(|name| !other.allows(name))
                .map(|name| format!("tool {name:?}"))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> ToolGrant {
        ToolGrant::Names(names.iter().map(|&name| name.to_owned()).collect())
    }

    #[test]
    fn combines_grants() {
        let ab = names(&["a", "b"]);
        let bc = names(&["b", "c"]);
        assert_eq!(ab.intersection(&bc), names(&["b"]));
        assert_eq!(ab.union(&bc), names(&["a", "b", "c"]));
        assert_eq!(
            (ab.intersection(&ToolGrant::All), ab.union(&ToolGrant::All)),
            (ab.clone(), ToolGrant::All)
        );
        assert_eq!(
            (
                ab.intersection(&ToolGrant::None),
                ab.union(&ToolGrant::None)
            ),
            (ToolGrant::None, ab.clone())
        );
        assert!(names(&[]).is_none() && ab.allows("a") && !ab.allows("c"));
        assert!(ToolGrant::All.allows("a") && !ToolGrant::All.names("a"));
    }

    #[test]
    fn lists_what_another_grant_does_not_allow() {
        let ab = names(&["a", "b"]);
        let bc = names(&["b", "c"]);
        assert_eq!(ab.lines_beyond(&bc), ["tool \"a\""]);
        assert_eq!(ToolGrant::All.lines_beyond(&bc), ["all tools"]);
        assert!(ab.lines_beyond(&ToolGrant::All).is_empty());
        assert!(ToolGrant::None.lines_beyond(&ToolGrant::None).is_empty());
    }
}
