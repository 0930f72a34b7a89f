//! Compiles a template to a program of instructions that match a URI from left to right, as backtracking
//! regular expression engines do.

use super::parse::{Expression, Modifier, Operator, Part, Variable};

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Program {
    pub(super) instructions: Vec<Instruction>,
    pub(super) groups: Vec<CaptureGroup>,
    /// Whether a variable appears twice. Then a match depends on earlier values, and not only on the position
    /// in the URI.
    pub(super) repeats: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Instruction {
    /// This literal text.
    Text(Box<str>),
    /// One character.
    One(CharClass),
    /// As many characters as possible, or fewer on backtracking.
    Greedy(CharClass),
    /// As many characters as possible, without backtracking: the next instruction cannot match any of them.
    Possessive(CharClass),
    /// As few characters as possible, or more on backtracking.
    Lazy(CharClass),
    /// At most this many characters, or fewer on backtracking.
    AtMost(CharClass, usize),
    /// Continues at the first instruction, or at the second one on backtracking.
    Split(usize, usize),
    Jump(usize),
    /// A value of this group starts here.
    StartCapture(usize),
    EndCapture,
    /// Succeeds if the end of the URI is reached.
    Match,
}

/// One appearance of a variable in the template.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CaptureGroup {
    pub(super) name: Box<str>,
    pub(super) modifier: Modifier,
    /// Whether a guest may use the value as part of a path.
    pub(super) may_be_path: bool,
    /// The group of the same variable with the longest value. The values of the others must be consistent
    /// with it.
    pub(super) longest: usize,
    /// Whether this is the first group of its variable.
    pub(super) is_first: bool,
}

/// A set of ASCII characters that may appear without percent-encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CharClass(u128);

impl CharClass {
    const UNRESERVED: Self = Self::of(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~");
    const RESERVED: Self = Self::UNRESERVED.and(b":/?#[]@!$&'()*+,;=");
    /// Characters that are common in queries, although RFC 6570 percent-encodes them.
    const QUERY: Self = Self::UNRESERVED.and(b":/?@!$'()*+,;=");

    const fn of(bytes: &[u8]) -> Self {
        Self(0).and(bytes)
    }

    const fn and(self, bytes: &[u8]) -> Self {
        let (mut bits, mut i) = (self.0, 0);
        while i < bytes.len() {
            bits |= 1 << bytes[i];
            i += 1;
        }
        Self(bits)
    }

    fn without(self, text: &str) -> Self {
        Self(self.0 & !Self::of(text.as_bytes()).0)
    }

    pub(super) fn has(self, byte: u8) -> bool {
        byte.is_ascii() && self.0 >> byte & 1 == 1
    }
}

/// How the value of a variable is matched.
#[derive(Clone, Copy)]
struct ValueRule {
    class: CharClass,
    at_least_one: bool,
    /// Whether the value ends as early as possible, so that the next part can match.
    is_lazy: bool,
}

impl ValueRule {
    fn in_pair(class: CharClass) -> Self {
        Self { class, at_least_one: false, is_lazy: false }
    }
}

impl Program {
    pub(super) fn compile(parts: &[Part]) -> Self {
        let mut program = Self { instructions: vec![], groups: vec![], repeats: false };
        for (i, part) in parts.iter().enumerate() {
            match part {
                Part::Literal(text) => program.text(text),
                Part::Expression(e) if e.operator.named() => program.named(e),
                Part::Expression(e) => program.positional(e, &parts[i + 1..]),
            }
        }
        program.instructions.push(Instruction::Match);
        program.make_possessive();
        program.link_repeated_variables();
        program
    }

    pub(super) fn variable_names(&self) -> impl Iterator<Item = &str> {
        self.groups.iter().filter(|group| group.is_first).map(|group| &*group.name)
    }

    /// Compiles `{x,y}`: values in order. The last ones may be missing.
    fn positional(&mut self, expression: &Expression, later: &[Part]) {
        let operator = expression.operator;
        let optional = !operator.first().is_empty();
        // Otherwise the extension in `{name}{.extension}` would never match.
        let is_lazy = later.first().is_some_and(Part::is_optional);
        let value = ValueRule { class: value_class(expression, later), at_least_one: !optional, is_lazy };
        let mut exits = vec![];
        if optional {
            exits.push(self.push_split());
            self.text(operator.first());
        }
        for (i, variable) in expression.variables.iter().enumerate() {
            if i > 0 {
                exits.push(self.push_split());
                self.text(operator.separator());
            }
            let (top, group) = (self.instructions.len(), self.add_group(expression, variable));
            self.value(group, value);
            if variable.modifier == Modifier::Explode {
                let last = self.push_split();
                self.text(operator.separator());
                self.instructions.push(Instruction::Jump(top));
                self.patch_split(last);
            }
        }
        exits.into_iter().for_each(|split| self.patch_split(split));
    }

    /// Compiles `{?x,y}`: pairs in any order, each of which may be missing. Duplicates are detected after the
    /// match.
    fn named(&mut self, expression: &Expression) {
        let skip = self.push_split();
        self.text(expression.operator.first());
        let top = self.instructions.len();
        let mut ends = vec![];
        for (i, variable) in expression.variables.iter().enumerate() {
            let other = (i + 1 < expression.variables.len()).then(|| self.push_split());
            self.pair(expression, variable);
            ends.push(self.instructions.len());
            self.instructions.push(Instruction::Jump(0));
            other.into_iter().for_each(|split| self.patch_split(split));
        }
        for end in ends {
            self.instructions[end] = Instruction::Jump(self.instructions.len());
        }
        let last = self.push_split();
        self.text(expression.operator.separator());
        self.instructions.push(Instruction::Jump(top));
        self.patch_split(last);
        self.patch_split(skip);
    }

    fn pair(&mut self, expression: &Expression, variable: &Variable) {
        let group = self.add_group(expression, variable);
        self.text(&variable.name);
        if expression.operator != Operator::Parameter {
            self.text("=");
            return self.value(group, ValueRule::in_pair(CharClass::QUERY));
        }
        // An empty `{;x}` is `;x` without `=`.
        let empty = self.push_split();
        self.text("=");
        self.value(group, ValueRule::in_pair(CharClass::UNRESERVED));
        let end = self.instructions.len();
        self.instructions.push(Instruction::Jump(0));
        self.patch_split(empty);
        self.instructions.extend([Instruction::StartCapture(group), Instruction::EndCapture]);
        self.instructions[end] = Instruction::Jump(self.instructions.len());
    }

    fn value(&mut self, group: usize, value: ValueRule) {
        self.instructions.push(Instruction::StartCapture(group));
        if value.at_least_one {
            self.instructions.push(Instruction::One(value.class));
        }
        self.instructions.push(match self.groups[group].modifier {
            Modifier::Prefix(most) => {
                Instruction::AtMost(value.class, most - usize::from(value.at_least_one))
            }
            Modifier::None | Modifier::Explode if value.is_lazy => Instruction::Lazy(value.class),
            Modifier::None | Modifier::Explode => Instruction::Greedy(value.class),
        });
        self.instructions.push(Instruction::EndCapture);
    }

    fn text(&mut self, text: &str) {
        self.instructions.push(Instruction::Text(text.into()));
    }

    /// Adds a split that continues with the next instruction, or at a target that `patch_split` sets later.
    fn push_split(&mut self) -> usize {
        let here = self.instructions.len();
        self.instructions.push(Instruction::Split(here + 1, 0));
        here
    }

    /// Sets the second target of the split to the next instruction.
    fn patch_split(&mut self, split: usize) {
        self.instructions[split] = Instruction::Split(split + 1, self.instructions.len());
    }

    fn add_group(&mut self, expression: &Expression, variable: &Variable) -> usize {
        self.groups.push(CaptureGroup {
            name: variable.name.clone(),
            modifier: variable.modifier,
            may_be_path: !expression.operator.named() && !expression.after_path,
            longest: 0,
            is_first: true,
        });
        self.groups.len() - 1
    }

    /// Makes greedy instructions possessive if the next one cannot match any character of the value: then a
    /// shorter value cannot match either.
    fn make_possessive(&mut self) {
        for at in 0..self.instructions.len() {
            let Instruction::Greedy(class) = self.instructions[at] else { continue };
            let next = self.instructions[at + 1..].iter().find(|next| **next != Instruction::EndCapture);
            let is_delimited = match next {
                Some(Instruction::Text(text)) => {
                    text.bytes().next().is_some_and(|byte| byte != b'%' && !class.has(byte))
                }
                Some(Instruction::Match) => true,
                _ => false,
            };
            if is_delimited {
                self.instructions[at] = Instruction::Possessive(class);
            }
        }
    }

    /// Relates the groups of the same variable to each other.
    fn link_repeated_variables(&mut self) {
        let max_length = |group: &CaptureGroup| match group.modifier {
            Modifier::Prefix(most) => most,
            Modifier::None | Modifier::Explode => usize::MAX,
        };
        for i in 0..self.groups.len() {
            let same = |j: &usize| self.groups[*j].name == self.groups[i].name;
            let longest = (0..self.groups.len()).filter(same).max_by_key(|j| max_length(&self.groups[*j]));
            let is_first = !(0..i).any(|j| same(&j));
            self.repeats |= !is_first;
            self.groups[i].longest = longest.unwrap_or(i);
            self.groups[i].is_first = is_first;
        }
    }
}

/// Returns the characters of an expression's values. They exclude the delimiters that separate values.
fn value_class(expression: &Expression, later: &[Part]) -> CharClass {
    let operator = expression.operator;
    let mut class = if operator.allows_reserved() { CharClass::RESERVED } else { CharClass::UNRESERVED };
    if let [_, _, ..] | [Variable { modifier: Modifier::Explode, .. }] = &*expression.variables {
        class = class.without(operator.separator());
    }
    // Otherwise the version in `{+path}{?version}` would never match.
    for part in later {
        match part {
            Part::Expression(e) if matches!(e.operator, Operator::Query | Operator::Fragment) => {
                class = class.without(e.operator.first());
            }
            _ => {}
        }
    }
    class
}
