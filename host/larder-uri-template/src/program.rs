//! The program of a template: instructions that match a URI from left to right, as backtracking regular
//! expression engines do.

use super::class::CharClass;
use super::parse::Modifier;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Program {
    pub(super) instructions: Vec<Instruction>,
    pub(super) groups: Vec<CaptureGroup>,
    /// Whether a variable appears twice. Then a match depends on earlier values and on the position in the URI.
    pub(super) repeats: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Instruction {
    /// This literal text.
    Text(Box<str>),
    /// One character.
    One(CharClass),
    /// One character, or no character if the URI does not match otherwise. The byte is the first byte of the literal
    /// text after the expression.
    OneOrNone(CharClass, u8),
    /// Succeeds before a character of this class. Does not consume the character.
    Ahead(CharClass),
    /// Like `Ahead`. If the URI does not match otherwise, succeeds everywhere.
    AheadOrNone(CharClass, u8),
    /// Fails before one of these names of variables, if no character of this class follows it.
    NotName(Box<[Box<str>]>, CharClass),
    /// As many characters as possible, or fewer on backtracking.
    Greedy(CharClass),
    /// As many characters as possible, without backtracking, because the next instruction cannot match any of them.
    Possessive(CharClass),
    /// As few characters as possible, or more on backtracking.
    Lazy(CharClass),
    /// At most this many characters, or fewer on backtracking.
    AtMost(CharClass, usize),
    /// Continues at the first instruction, or at the second one on backtracking.
    Split(usize, usize),
    Jump(usize),
    /// A key of this group starts here. The next value belongs to it.
    StartKey(usize),
    /// A value of this group starts here.
    StartCapture(usize),
    /// The key or the value ends here.
    EndCapture,
    /// Succeeds if the end of the URI is reached.
    Match,
}

/// One appearance of a variable in the template.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CaptureGroup {
    pub(super) name: Box<str>,
    pub(super) modifier: Modifier,
    /// Whether commas separate the items of a list.
    pub(super) splits_at_commas: bool,
    /// Whether reserved characters are not percent-encoded.
    pub(super) allows_reserved: bool,
    /// Whether the values of the variable are omitted if the expression has no text.
    pub(super) omits_empty: bool,
    /// The number of the expression.
    pub(super) expression: usize,
    /// Whether a guest may use the value as part of a path.
    pub(super) may_be_path: bool,
    /// The group of the same variable with the longest value. The values of the other groups must be consistent with
    /// this value.
    pub(super) longest: usize,
    /// Whether this is the first group of its variable.
    pub(super) is_first: bool,
}

impl Program {
    pub(super) fn variable_names(&self) -> impl Iterator<Item = &str> {
        self.groups
            .iter()
            .filter(|group| group.is_first)
            .map(|group| &*group.name)
    }
}
