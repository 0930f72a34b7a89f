//! From the parts of a template to steps that read a URI from left to right.

use super::parse::{Expression, Operator, Part, Shape, Variable};

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Program {
    pub(super) steps: Vec<Step>,
    pub(super) slots: Vec<Slot>,
    /// Whether a variable appears twice. Then a match hangs on more than where one is in the URI.
    pub(super) repeats: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    Text(Box<str>),
    /// One character.
    One(Class),
    /// As many characters as there are, or fewer.
    Many(Class),
    /// As many characters as there are: what follows cannot begin with any of them.
    All(Class),
    /// As few characters as can be, or more.
    Few(Class),
    /// At most so many characters.
    UpTo(Class, usize),
    /// The first, or else the second.
    Either(usize, usize),
    Jump(usize),
    /// A value of this slot begins.
    Open(usize),
    Close,
    Done,
}

/// One appearance of a variable.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) name: Box<str>,
    pub(super) shape: Shape,
    /// Whether a guest may well take the value for part of a path.
    pub(super) path_like: bool,
    /// The slot of this name that has the whole value; the others must agree with it.
    pub(super) whole: usize,
    /// Whether it is the first of its name.
    pub(super) first: bool,
}

/// The ASCII characters that may appear as they are, as a set of bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Class(u128);

impl Class {
    const UNRESERVED: Self = Self::of(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~");
    const RESERVED: Self = Self::UNRESERVED.and(b":/?#[]@!$&'()*+,;=");
    /// What people write into queries although RFC 6570 would encode it.
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

/// How a value is read.
#[derive(Clone, Copy)]
struct Value {
    class: Class,
    at_least_one: bool,
    /// Whether what follows is read first, if it can be.
    gives_way: bool,
}

impl Value {
    fn in_pair(class: Class) -> Self {
        Self { class, at_least_one: false, gives_way: false }
    }
}

impl Program {
    pub(super) fn compile(parts: &[Part]) -> Self {
        let mut program = Self { steps: vec![], slots: vec![], repeats: false };
        for (i, part) in parts.iter().enumerate() {
            match part {
                Part::Literal(text) => program.text(text),
                Part::Expression(e) if e.operator.named() => program.named(e),
                Part::Expression(e) => program.positional(e, &parts[i + 1..]),
            }
        }
        program.steps.push(Step::Done);
        program.commit();
        program.relate();
        program
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.slots.iter().filter(|slot| slot.first).map(|slot| &*slot.name)
    }

    /// `{x,y}`: values in order, of which the last may be missing.
    fn positional(&mut self, expression: &Expression, later: &[Part]) {
        let operator = expression.operator;
        let optional = !operator.first().is_empty();
        // Otherwise `{name}{.extension}` would never see an extension.
        let gives_way = later.first().is_some_and(Part::is_optional);
        let value = Value { class: class(expression, later), at_least_one: !optional, gives_way };
        let mut exits = vec![];
        if optional {
            exits.push(self.hole());
            self.text(operator.first());
        }
        for (i, variable) in expression.variables.iter().enumerate() {
            if i > 0 {
                exits.push(self.hole());
                self.text(operator.separator());
            }
            let (top, slot) = (self.steps.len(), self.slot(expression, variable));
            self.value(slot, value);
            if variable.shape == Shape::Exploded {
                let last = self.hole();
                self.text(operator.separator());
                self.steps.push(Step::Jump(top));
                self.fill(last);
            }
        }
        exits.into_iter().for_each(|hole| self.fill(hole));
    }

    /// `{?x,y}`: pairs in any order, of which any may be missing. That one comes twice is found
    /// when all is read.
    fn named(&mut self, expression: &Expression) {
        let skip = self.hole();
        self.text(expression.operator.first());
        let top = self.steps.len();
        let mut ends = vec![];
        for (i, variable) in expression.variables.iter().enumerate() {
            let other = (i + 1 < expression.variables.len()).then(|| self.hole());
            self.pair(expression, variable);
            ends.push(self.steps.len());
            self.steps.push(Step::Jump(0));
            other.into_iter().for_each(|hole| self.fill(hole));
        }
        for end in ends {
            self.steps[end] = Step::Jump(self.steps.len());
        }
        let last = self.hole();
        self.text(expression.operator.separator());
        self.steps.push(Step::Jump(top));
        self.fill(last);
        self.fill(skip);
    }

    fn pair(&mut self, expression: &Expression, variable: &Variable) {
        let slot = self.slot(expression, variable);
        self.text(&variable.name);
        if expression.operator != Operator::Parameter {
            self.text("=");
            return self.value(slot, Value::in_pair(Class::QUERY));
        }
        // An empty `{;x}` is `;x` without `=`.
        let empty = self.hole();
        self.text("=");
        self.value(slot, Value::in_pair(Class::UNRESERVED));
        let end = self.steps.len();
        self.steps.push(Step::Jump(0));
        self.fill(empty);
        self.steps.extend([Step::Open(slot), Step::Close]);
        self.steps[end] = Step::Jump(self.steps.len());
    }

    fn value(&mut self, slot: usize, value: Value) {
        self.steps.push(Step::Open(slot));
        if value.at_least_one {
            self.steps.push(Step::One(value.class));
        }
        self.steps.push(match self.slots[slot].shape {
            Shape::Prefix(most) => Step::UpTo(value.class, most - usize::from(value.at_least_one)),
            Shape::Whole | Shape::Exploded if value.gives_way => Step::Few(value.class),
            Shape::Whole | Shape::Exploded => Step::Many(value.class),
        });
        self.steps.push(Step::Close);
    }

    fn text(&mut self, text: &str) {
        self.steps.push(Step::Text(text.into()));
    }

    /// A way that leads on, or else to where `fill` will say.
    fn hole(&mut self) -> usize {
        let here = self.steps.len();
        self.steps.push(Step::Either(here + 1, 0));
        here
    }

    fn fill(&mut self, hole: usize) {
        self.steps[hole] = Step::Either(hole + 1, self.steps.len());
    }

    fn slot(&mut self, expression: &Expression, variable: &Variable) -> usize {
        self.slots.push(Slot {
            name: variable.name.clone(),
            shape: variable.shape,
            path_like: !expression.operator.named() && !expression.behind_path,
            whole: 0,
            first: true,
        });
        self.slots.len() - 1
    }

    /// Where what follows cannot begin inside of a value, no shorter value is worth a try.
    fn commit(&mut self) {
        for at in 0..self.steps.len() {
            let Step::Many(class) = self.steps[at] else { continue };
            let follows = self.steps[at + 1..].iter().find(|step| **step != Step::Close);
            let ends = match follows {
                Some(Step::Text(text)) => {
                    text.bytes().next().is_some_and(|byte| byte != b'%' && !class.has(byte))
                }
                Some(Step::Done) => true,
                _ => false,
            };
            if ends {
                self.steps[at] = Step::All(class);
            }
        }
    }

    fn relate(&mut self) {
        let breadth = |slot: &Slot| match slot.shape {
            Shape::Prefix(most) => most,
            Shape::Whole | Shape::Exploded => usize::MAX,
        };
        for i in 0..self.slots.len() {
            let same = |j: &usize| self.slots[*j].name == self.slots[i].name;
            let whole = (0..self.slots.len()).filter(same).max_by_key(|j| breadth(&self.slots[*j]));
            let first = !(0..i).any(|j| same(&j));
            self.repeats |= !first;
            self.slots[i].whole = whole.unwrap_or(i);
            self.slots[i].first = first;
        }
    }
}

/// What the values of an expression may be made of: not of what divides them from their neighbours.
fn class(expression: &Expression, later: &[Part]) -> Class {
    let operator = expression.operator;
    let mut class = if operator.reserved() { Class::RESERVED } else { Class::UNRESERVED };
    if let [_, _, ..] | [Variable { shape: Shape::Exploded, .. }] = &*expression.variables {
        class = class.without(operator.separator());
    }
    // Otherwise `{+path}{?version}` would never see a version.
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
