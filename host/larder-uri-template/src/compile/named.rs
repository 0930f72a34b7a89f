//! Compiles expressions whose values are written with a name, such as `{?x}` and `{;x}`.

use super::{AtLeast, ValueRule};
use crate::class::CharClass;
use crate::parse::{Expression, Modifier, Operator, Part, VarSpec};
use crate::program::{Instruction, Program};

impl Program {
    /// Compiles `{?x,y}`: pairs in any order. Each pair may be missing. Duplicates are detected after the match. The
    /// first variable with `*` also matches other names, as the keys of a map.
    pub(super) fn named(&mut self, expression: &Expression, number: usize, parts: &[Part]) {
        let skip = self.push_split();
        self.text(expression.operator.first());
        let top = self.instructions.len();
        let mut ends = vec![];
        let mut map = None;
        let exploded = expression
            .variables
            .iter()
            .position(|variable| variable.modifier == Modifier::Explode);
        for (i, variable) in expression.variables.iter().enumerate() {
            let is_last = exploded.is_none() && i + 1 == expression.variables.len();
            let other = (!is_last).then(|| self.push_split());
            let group = self.pair(expression, number, variable);
            map = map.or((exploded == Some(i)).then_some(group));
            ends.push(self.push_jump());
            if let Some(split) = other {
                self.patch_split(split);
            }
        }
        if let Some(group) = map {
            self.other_pair(group, expression, parts);
        }
        for end in ends {
            self.patch_jump(end);
        }
        let last = self.push_split();
        self.text(expression.operator.separator());
        self.instructions.push(Instruction::Jump(top));
        self.patch_split(last);
        self.patch_split(skip);
    }

    fn pair(&mut self, expression: &Expression, number: usize, variable: &VarSpec) -> usize {
        let group = self.add_group(expression, number, variable);
        self.text(&variable.name);
        self.rest_of_pair(group, expression);
        group
    }

    /// Compiles a pair of a map. Its key is not the name of a variable.
    fn other_pair(&mut self, group: usize, expression: &Expression, parts: &[Part]) {
        let class = CharClass::of_values(expression, &[]).without("=");
        let names = names_beside(expression.operator, parts);
        self.instructions.push(Instruction::NotName(names, class));
        self.key(group, class);
        self.rest_of_pair(group, expression);
    }

    /// Compiles the text after the name.
    fn rest_of_pair(&mut self, group: usize, expression: &Expression) {
        let class = CharClass::of_values(expression, &[]);
        let class = match self.groups[group].modifier {
            Modifier::None => class.and(b","),
            Modifier::Prefix(_) | Modifier::Explode => class,
        };
        let rule = ValueRule {
            class,
            at_least: AtLeast::None,
            is_lazy: false,
        };
        if expression.operator != Operator::Parameter {
            self.text("=");
            return self.value(group, rule);
        }
        // An empty `{;x}` is `;x` without `=`.
        let empty = self.push_split();
        self.text("=");
        self.value(group, rule);
        let end = self.push_jump();
        self.patch_split(empty);
        self.instructions
            .extend([Instruction::StartCapture(group), Instruction::EndCapture]);
        self.patch_jump(end);
    }
}

/// Returns the names of all variables that are written with the same separator as the variables of this operator.
fn names_beside(operator: Operator, parts: &[Part]) -> Box<[Box<str>]> {
    let expressions = parts.iter().filter_map(|part| match part {
        Part::Expression(e)
            if e.operator.named() && e.operator.separator() == operator.separator() =>
        {
            Some(e)
        }
        _ => None,
    });
    expressions
        .flat_map(|e| e.variables.iter().map(|variable| variable.name.clone()))
        .collect()
}
