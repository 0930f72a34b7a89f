//! The last steps of compiling: relations between instructions, and between the groups of a variable.

use crate::parse::Modifier;
use crate::program::{CaptureGroup, Instruction, Program};

impl Program {
    /// Makes a greedy instruction possessive if the next instruction cannot match any character of the value: then a
    /// shorter value cannot match either.
    pub(super) fn make_possessive(&mut self) {
        for at in 0..self.instructions.len() {
            let Instruction::Greedy(class) = self.instructions[at] else {
                continue;
            };
            let next = self.instructions[at + 1..]
                .iter()
                .find(|next| **next != Instruction::EndCapture);
            let is_delimited = match next {
                Some(Instruction::Text(text)) => text
                    .bytes()
                    .next()
                    .is_some_and(|byte| byte != b'%' && !class.has(byte)),
                Some(Instruction::Match) => true,
                _ => false,
            };
            if is_delimited {
                self.instructions[at] = Instruction::Possessive(class);
            }
        }
    }

    /// Relates the groups of the same variable to each other.
    pub(super) fn link_repeated_variables(&mut self) {
        for i in 0..self.groups.len() {
            let same = |j: &usize| self.groups[*j].name == self.groups[i].name;
            let longest = (0..self.groups.len())
                .filter(same)
                .max_by_key(|j| detail(&self.groups[*j]));
            let is_first = !(0..i).any(|j| same(&j));
            self.repeats |= !is_first;
            self.groups[i].longest = longest.unwrap_or(i);
            self.groups[i].is_first = is_first;
        }
    }
}

/// How much of the values a group contains: the length of a prefix, whether the items of a list are separate,
/// and whether keys differ from values.
fn detail(group: &CaptureGroup) -> (usize, bool, bool) {
    let most = match group.modifier {
        Modifier::Prefix(most) => most,
        Modifier::None | Modifier::Explode => usize::MAX,
    };
    (
        most,
        group.modifier == Modifier::Explode || group.splits_at_commas,
        group.modifier == Modifier::Explode,
    )
}
