//! Keywords that apply schemas to the items of an array.

use serde_json::Value;

use super::evaluated_children::EvaluatedChildren;
use super::report::{Location, Quote, Step};
use super::{Outcome, Validation};
use crate::node::{Contains, Items, NodeId};

impl Validation<'_, '_, '_> {
    pub(super) fn items(
        &mut self,
        keyword: &Items,
        at: &Location<'_>,
        evaluated: Option<&mut EvaluatedChildren<'_>>,
    ) -> Outcome {
        let Value::Array(items) = at.value else {
            return Ok(true);
        };
        if let Some(evaluated) = evaluated {
            evaluated.add_first_items(if keyword.rest.is_some() {
                items.len()
            } else {
                keyword.first.len()
            });
        }
        let mut is_valid = true;
        for (index, item) in items.iter().enumerate() {
            let Some(node) = keyword.first.get(index).copied().or(keyword.rest) else {
                break;
            };
            is_valid &= self.evaluate(node, &at.child(Step::Index(index), item), None)?;
            if !is_valid && self.report.is_none() {
                break;
            }
        }
        Ok(is_valid)
    }

    pub(super) fn contains(
        &mut self,
        keyword: &Contains,
        at: &Location<'_>,
        mut evaluated: Option<&mut EvaluatedChildren<'_>>,
    ) -> Outcome {
        let Value::Array(items) = at.value else {
            return Ok(true);
        };
        let mut found = 0;
        for (index, item) in items.iter().enumerate() {
            if !self.is_valid(keyword.node, &at.child(Step::Index(index), item), None)? {
                continue;
            }
            found += 1;
            if let Some(evaluated) = evaluated.as_deref_mut().filter(|_| keyword.marks_items) {
                evaluated.add_item(index);
            }
        }
        let most = keyword.max.filter(|max| found > *max);
        match most {
            None if found >= keyword.min => Ok(true),
            None => {
                let quote = Quote(at.value);
                let min = keyword.min;
                self.fail(
                    at,
                    format_args!("{quote} has less than {min} items that match `contains`"),
                )
            }
            Some(max) => {
                let quote = Quote(at.value);
                self.fail(
                    at,
                    format_args!("{quote} has more than {max} items that match `contains`"),
                )
            }
        }
    }

    pub(super) fn unevaluated_items(
        &mut self,
        node: NodeId,
        at: &Location<'_>,
        evaluated: Option<&mut EvaluatedChildren<'_>>,
    ) -> Outcome {
        let Value::Array(items) = at.value else {
            return Ok(true);
        };
        let Some(evaluated) = evaluated else {
            return Ok(true);
        };
        let mut is_valid = true;
        for (index, item) in items.iter().enumerate() {
            self.effort.spend(1)?;
            if !evaluated.has_item(index) {
                is_valid &= self.evaluate(node, &at.child(Step::Index(index), item), None)?;
            }
        }
        evaluated.add_first_items(items.len());
        Ok(is_valid)
    }
}
