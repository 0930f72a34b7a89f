//! Keywords that apply schemas to the same value.

use serde_json::Value;

use super::evaluated_children::EvaluatedChildren;
use super::report::{Location, Quote};
use super::{Outcome, Validation};
use crate::node::{Condition, DynamicReference, NodeId};

impl Validation<'_, '_, '_> {
    pub(super) fn dynamic_reference<'v>(
        &mut self,
        reference: &DynamicReference,
        at: &Location<'v>,
        evaluated: Option<&mut EvaluatedChildren<'v>>,
    ) -> Outcome {
        self.effort
            .spend((self.resources.len() * reference.targets.len()) as u64)?;
        let mut resources = self.resources.iter();
        let target = resources.find_map(|resource| reference.target_in(*resource));
        self.evaluate(target.unwrap_or(reference.target), at, evaluated)
    }

    pub(super) fn all_of<'v>(
        &mut self,
        nodes: &[NodeId],
        at: &Location<'v>,
        mut evaluated: Option<&mut EvaluatedChildren<'v>>,
    ) -> Outcome {
        let mut is_valid = true;
        for node in nodes {
            is_valid &= self.evaluate(*node, at, evaluated.as_deref_mut())?;
            if !is_valid && self.report.is_none() {
                break;
            }
        }
        Ok(is_valid)
    }

    pub(super) fn any_of<'v>(
        &mut self,
        nodes: &[NodeId],
        at: &Location<'v>,
        mut evaluated: Option<&mut EvaluatedChildren<'v>>,
    ) -> Outcome {
        let mut is_valid = false;
        for node in nodes {
            is_valid |= self.branch(*node, at, evaluated.as_deref_mut())?;
            if is_valid && evaluated.is_none() {
                break;
            }
        }
        let value = Quote(at.value);
        let message = format_args!("{value} is not valid under any of the schemas in `anyOf`");
        self.check(is_valid, at, message)
    }

    pub(super) fn one_of<'v>(
        &mut self,
        nodes: &[NodeId],
        at: &Location<'v>,
        mut evaluated: Option<&mut EvaluatedChildren<'v>>,
    ) -> Outcome {
        let mut valid = 0;
        for node in nodes {
            valid += usize::from(self.branch(*node, at, evaluated.as_deref_mut())?);
            if valid > 1 {
                break;
            }
        }
        let problem = match valid {
            1 => return Ok(true),
            0 => "not valid under any",
            _ => "valid under more than one",
        };
        self.fail(
            at,
            format_args!("{} is {problem} of the schemas in `oneOf`", Quote(at.value)),
        )
    }

    pub(super) fn not(&mut self, node: NodeId, at: &Location<'_>) -> Outcome {
        let is_valid = !self.is_valid(node, at, None)?;
        let value = Quote(at.value);
        self.check(
            is_valid,
            at,
            format_args!("{value} is valid under the schema in `not`"),
        )
    }

    pub(super) fn condition<'v>(
        &mut self,
        condition: &Condition,
        at: &Location<'v>,
        mut evaluated: Option<&mut EvaluatedChildren<'v>>,
    ) -> Outcome {
        let next = if self.branch(condition.condition, at, evaluated.as_deref_mut())? {
            condition.then
        } else {
            condition.otherwise
        };
        match next {
            Some(node) => self.evaluate(node, at, evaluated),
            None => Ok(true),
        }
    }

    pub(super) fn dependent_schemas<'v>(
        &mut self,
        schemas: &[(String, NodeId)],
        at: &Location<'v>,
        mut evaluated: Option<&mut EvaluatedChildren<'v>>,
    ) -> Outcome {
        let Value::Object(members) = at.value else {
            return Ok(true);
        };
        let mut is_valid = true;
        for (name, node) in schemas {
            self.effort.spend(1)?;
            if members.contains_key(name) {
                is_valid &= self.evaluate(*node, at, evaluated.as_deref_mut())?;
            }
        }
        Ok(is_valid)
    }

    /// Evaluates a node that may fail. If it fails, the evaluated members and items do not count.
    fn branch<'v>(
        &mut self,
        node: NodeId,
        at: &Location<'v>,
        evaluated: Option<&mut EvaluatedChildren<'v>>,
    ) -> Outcome {
        let Some(evaluated) = evaluated else {
            return self.is_valid(node, at, None);
        };
        let mut own = EvaluatedChildren::default();
        let is_valid = self.is_valid(node, at, Some(&mut own))?;
        if is_valid {
            evaluated.add_all(own, self.effort)?;
        }
        Ok(is_valid)
    }
}
