//! Chains of schemas that apply to the same value, through references and keywords such as `allOf`. Each link needs stack
//! in a validation, so the length is bounded. A chain without an end can never be evaluated.

use super::MAX_CHAIN;
use crate::InvalidSchema;
use crate::node::{Keyword, Node, NodeId};

/// What is known about the chains from a node.
#[derive(Clone, Copy)]
enum Length {
    Unknown,
    /// The node is part of the chain that is being followed.
    InProgress,
    Known(usize),
}

struct Chains<'n> {
    nodes: &'n [Node],
    lengths: Vec<Length>,
}

/// Fails if a chain is too long, and makes shortcuts where a schema is nothing but a reference.
pub(super) fn check(nodes: &mut [Node], reachable: &[NodeId]) -> Result<(), InvalidSchema> {
    let mut chains = Chains {
        nodes,
        lengths: vec![Length::Unknown; nodes.len()],
    };
    for node in reachable {
        chains.length(*node, 0)?;
    }
    for node in reachable {
        let index = node.0 as usize;
        nodes[index].alias = last_target(nodes, index);
    }
    Ok(())
}

impl Chains<'_> {
    /// The length of the longest chain from a node, which is the end of a chain of so many others.
    fn length(&mut self, id: NodeId, before: usize) -> Result<usize, InvalidSchema> {
        if before > MAX_CHAIN {
            return Err(InvalidSchema::LongChain);
        }
        let index = id.0 as usize;
        match self.lengths[index] {
            Length::Known(length) if before + length > MAX_CHAIN => {
                return Err(InvalidSchema::LongChain);
            }
            Length::Known(length) => return Ok(length),
            Length::InProgress => return Err(InvalidSchema::Endless),
            Length::Unknown => self.lengths[index] = Length::InProgress,
        }
        let mut longest = 0;
        for keyword in &self.nodes[index].keywords {
            for next in keyword.in_place() {
                longest = longest.max(1 + self.length(next, before + 1)?);
            }
        }
        self.lengths[index] = Length::Known(longest);
        Ok(longest)
    }
}

/// Where a chain of schemas of one resource ends that are nothing but references.
fn last_target(nodes: &[Node], start: usize) -> Option<NodeId> {
    let mut last = None;
    let mut node = &nodes[start];
    while let [Keyword::Reference(target)] = &*node.keywords {
        let next = &nodes[target.0 as usize];
        if next.resource != node.resource {
            break;
        }
        last = Some(*target);
        node = next;
    }
    last
}
