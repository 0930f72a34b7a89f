//! Keywords that apply schemas to the members of an object.

use serde_json::Value;

use super::evaluated_children::EvaluatedChildren;
use super::report::{Location, Step, UnexpectedNames};
use super::{Outcome, Validation};
use crate::node::{Keyword, NodeId, Properties};

/// Maximum number of names in an error.
const MAX_NAMES: usize = 10;

impl<'s> Validation<'s, '_, '_> {
    pub(super) fn properties<'v>(
        &mut self,
        keyword: &'s Properties,
        at: &Location<'v>,
        mut evaluated: Option<&mut EvaluatedChildren<'v>>,
    ) -> Outcome {
        let Value::Object(members) = at.value else {
            return Ok(true);
        };
        let mut unexpected = vec![];
        let mut is_valid = true;
        for (name, value) in members {
            self.effort.spend(1)?;
            self.effort.spend_bytes(name.len())?;
            let is_known = self.known_member(keyword, name, value, at, &mut is_valid)?;
            let others = keyword.others.filter(|_| !is_known);
            match others {
                Some(node) if self.is_never(node) => add_name(&mut unexpected, name),
                Some(node) => {
                    is_valid &= self.evaluate(node, &at.child(Step::Name(name), value), None)?;
                }
                None => {}
            }
            if let Some(evaluated) = evaluated
                .as_deref_mut()
                .filter(|_| is_known || others.is_some())
            {
                self.effort.spend(1)?;
                evaluated.add_name(name);
            }
            if self.report.is_none() && !(is_valid && unexpected.is_empty()) {
                return Ok(false);
            }
        }
        if unexpected.is_empty() {
            return Ok(is_valid);
        }
        self.fail(
            at,
            format_args!(
                "Additional properties are not allowed ({})",
                UnexpectedNames(&unexpected)
            ),
        )
    }

    /// Evaluates a member with the schemas for its name. Returns whether there are such schemas.
    fn known_member(
        &mut self,
        keyword: &'s Properties,
        name: &str,
        value: &Value,
        at: &Location<'_>,
        is_valid: &mut bool,
    ) -> Outcome {
        let mut is_known = false;
        let part = at.child(Step::Name(name), value);
        if let Ok(found) = keyword
            .named
            .binary_search_by(|(other, _)| other.as_str().cmp(name))
        {
            is_known = true;
            *is_valid &= self.evaluate(keyword.named[found].1, &part, None)?;
        }
        for (pattern, node) in &keyword.patterns {
            if pattern.is_match(name, self.effort)? {
                is_known = true;
                *is_valid &= self.evaluate(*node, &part, None)?;
            }
        }
        Ok(is_known)
    }

    fn is_never(&self, node: NodeId) -> bool {
        matches!(&*self.node(node).keywords, [Keyword::Never])
    }

    pub(super) fn property_names(&mut self, node: NodeId, at: &Location<'_>) -> Outcome {
        let Value::Object(members) = at.value else {
            return Ok(true);
        };
        let mut is_valid = true;
        for name in members.keys() {
            self.effort.spend_bytes(name.len())?;
            let value = Value::from(name.as_str());
            is_valid &= self.evaluate(node, &at.child(Step::Name(name), &value), None)?;
            if !is_valid && self.report.is_none() {
                break;
            }
        }
        Ok(is_valid)
    }

    pub(super) fn unevaluated_properties<'v>(
        &mut self,
        node: NodeId,
        at: &Location<'v>,
        evaluated: Option<&mut EvaluatedChildren<'v>>,
    ) -> Outcome {
        let Value::Object(members) = at.value else {
            return Ok(true);
        };
        let Some(evaluated) = evaluated else {
            return Ok(true);
        };
        let mut unexpected = vec![];
        let mut is_valid = true;
        for (name, value) in members {
            self.effort.spend(1)?;
            self.effort.spend_bytes(name.len())?;
            if evaluated.has_name(name) {
                continue;
            }
            if self.is_never(node) {
                add_name(&mut unexpected, name);
            } else {
                is_valid &= self.evaluate(node, &at.child(Step::Name(name), value), None)?;
            }
            evaluated.add_name(name);
        }
        if unexpected.is_empty() {
            return Ok(is_valid);
        }
        self.fail(
            at,
            format_args!(
                "Unevaluated properties are not allowed ({})",
                UnexpectedNames(&unexpected)
            ),
        )
    }
}

fn add_name(names: &mut Vec<String>, name: &str) {
    if names.len() < MAX_NAMES {
        names.push(name.to_owned());
    }
}
