//! Compiles a template to a program.

mod links;
mod named;

use super::class::CharClass;
use super::parse::{Expression, Modifier, Part, VarSpec};
use super::program::{CaptureGroup, Instruction, Program};

/// How the value of a variable is matched.
#[derive(Clone, Copy)]
struct ValueRule {
    class: CharClass,
    at_least: AtLeast,
    /// Whether the value ends as early as possible, so that the next part can match.
    is_lazy: bool,
}

/// The least text of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AtLeast {
    None,
    One,
    /// One character, or no character if the URI does not match otherwise. The byte is the first byte of the literal
    /// text after the expression.
    OneOrNone(u8),
}

impl Program {
    pub(super) fn compile(parts: &[Part]) -> Self {
        let mut program = Self {
            instructions: vec![],
            groups: vec![],
            repeats: false,
        };
        for (i, part) in parts.iter().enumerate() {
            match part {
                Part::Literal(text) => program.text(text),
                Part::Expression(e) if e.operator.named() => program.named(e, i, parts),
                Part::Expression(e) => program.positional(e, i, parts),
            }
        }
        program.instructions.push(Instruction::Match);
        program.make_possessive();
        program.link_repeated_variables();
        program
    }

    /// Compiles `{x,y}`: values in order. The last values may be missing.
    fn positional(&mut self, expression: &Expression, number: usize, parts: &[Part]) {
        let operator = expression.operator;
        let later = &parts[number + 1..];
        let is_optional = !operator.first().is_empty();
        let class = CharClass::of_values(expression, later);
        let at_least = if is_optional {
            AtLeast::None
        } else {
            literal_after(number, parts).map_or(AtLeast::One, AtLeast::OneOrNone)
        };
        let mut exits = vec![];
        if is_optional {
            exits.push(self.push_split());
            self.text(operator.first());
        }
        let is_single =
            matches!(&*expression.variables, [variable] if variable.modifier != Modifier::Explode);
        if !is_single {
            self.ahead(at_least, class.and(operator.separator().as_bytes()));
        }
        // Without this, the extension in `{name}{.extension}` would never match.
        let is_lazy = later.first().is_some_and(Part::is_optional);
        let rule = ValueRule {
            class,
            at_least: if is_single { at_least } else { AtLeast::None },
            is_lazy,
        };
        for (i, variable) in expression.variables.iter().enumerate() {
            if i > 0 {
                exits.push(self.push_split());
                self.text(operator.separator());
            }
            let group = self.add_group(expression, number, variable);
            let is_last = i + 1 == expression.variables.len();
            if variable.modifier == Modifier::Explode {
                self.list_or_map(group, operator.separator(), rule);
            } else {
                let class = single_value_class(class, expression, variable, is_last, later);
                self.value(group, ValueRule { class, ..rule });
            }
        }
        for split in exits {
            self.patch_split(split);
        }
    }

    /// Compiles `{x*}`: a map if its first item contains `=`, otherwise a list.
    fn list_or_map(&mut self, group: usize, separator: &str, rule: ValueRule) {
        let item = ValueRule {
            class: rule.class.without(separator),
            ..rule
        };
        let list = self.push_split();
        let done = self.map(group, separator, item, rule.class);
        self.patch_split(list);
        let top = self.instructions.len();
        self.value(group, item);
        let last = self.push_split();
        self.text(separator);
        self.instructions.push(Instruction::Jump(top));
        self.patch_split(last);
        self.patch_jump(done);
    }

    /// Compiles the pairs of a map. Returns the jump from the end of the map. If values may contain the separator, an
    /// item without `=` belongs to the previous value.
    fn map(&mut self, group: usize, separator: &str, item: ValueRule, class: CharClass) -> usize {
        let top = self.instructions.len();
        self.key(group, item.class.without("="));
        self.text("=");
        self.instructions.push(Instruction::StartCapture(group));
        let value = self.instructions.len();
        self.characters(group, item);
        let last = self.push_split();
        self.instructions.push(Instruction::EndCapture);
        self.text(separator);
        self.instructions.push(Instruction::Jump(top));
        self.patch_split(last);
        if separator.bytes().all(|byte| class.has(byte)) {
            let end = self.push_split();
            self.text(separator);
            self.instructions.push(Instruction::Jump(value));
            self.patch_split(end);
        }
        self.instructions.push(Instruction::EndCapture);
        self.push_jump()
    }

    fn key(&mut self, group: usize, class: CharClass) {
        self.instructions.extend([
            Instruction::StartKey(group),
            Instruction::One(class),
            Instruction::Greedy(class),
            Instruction::EndCapture,
        ]);
    }

    fn value(&mut self, group: usize, rule: ValueRule) {
        self.instructions.push(Instruction::StartCapture(group));
        self.characters(group, rule);
        self.instructions.push(Instruction::EndCapture);
    }

    fn characters(&mut self, group: usize, rule: ValueRule) {
        let one = match rule.at_least {
            AtLeast::None => None,
            AtLeast::One => Some(Instruction::One(rule.class)),
            AtLeast::OneOrNone(next) => Some(Instruction::OneOrNone(rule.class, next)),
        };
        let rest = match self.groups[group].modifier {
            Modifier::Prefix(most) => Instruction::AtMost(rule.class, most - one.iter().count()),
            Modifier::None | Modifier::Explode if rule.is_lazy => Instruction::Lazy(rule.class),
            Modifier::None | Modifier::Explode => Instruction::Greedy(rule.class),
        };
        self.instructions.extend(one.into_iter().chain([rest]));
    }

    /// Requires that the expression has at least some text.
    fn ahead(&mut self, at_least: AtLeast, class: CharClass) {
        self.instructions.extend(match at_least {
            AtLeast::None => None,
            AtLeast::One => Some(Instruction::Ahead(class)),
            AtLeast::OneOrNone(next) => Some(Instruction::AheadOrNone(class, next)),
        });
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

    /// Adds a jump to a target that `patch_jump` sets later.
    fn push_jump(&mut self) -> usize {
        self.instructions.push(Instruction::Jump(0));
        self.instructions.len() - 1
    }

    /// Sets the target of the jump to the next instruction.
    fn patch_jump(&mut self, jump: usize) {
        self.instructions[jump] = Instruction::Jump(self.instructions.len());
    }

    fn add_group(&mut self, expression: &Expression, number: usize, variable: &VarSpec) -> usize {
        let operator = expression.operator;
        self.groups.push(CaptureGroup {
            name: variable.name.clone(),
            modifier: variable.modifier,
            splits_at_commas: variable.modifier == Modifier::None && !operator.allows_reserved(),
            allows_reserved: operator.allows_reserved(),
            omits_empty: operator.first().is_empty(),
            expression: number,
            may_be_path: !operator.named() && !expression.after_path,
            longest: 0,
            is_first: true,
        });
        self.groups.len() - 1
    }
}

/// Returns the characters of a variable without `*`. Commas separate the items of a list.
fn single_value_class(
    class: CharClass,
    expression: &Expression,
    variable: &VarSpec,
    is_last: bool,
    later: &[Part],
) -> CharClass {
    let operator = expression.operator;
    let class = match (variable.modifier, later.first()) {
        _ if operator.allows_reserved() => class,
        // `geo:{latitude},{longitude}` is not a list.
        (_, Some(Part::Literal(text))) if is_last && text.starts_with(',') => class,
        (Modifier::None, _) => class.and(b","),
        (Modifier::Prefix(_) | Modifier::Explode, _) => class,
    };
    if is_last {
        class
    } else {
        class.without(operator.separator())
    }
}

/// Returns the first byte after this part if there is literal text directly before and after the part. Then the part
/// may be empty.
fn literal_after(number: usize, parts: &[Part]) -> Option<u8> {
    match (parts.get(number.checked_sub(1)?)?, parts.get(number + 1)?) {
        (Part::Literal(_), Part::Literal(text)) => text.bytes().next(),
        _ => None,
    }
}
