//! Chains of schemas that apply to the same value, through references and keywords such as `allOf`. Each link needs
//! stack during a validation, so the length is limited. An infinite chain can never be evaluated.

use super::MAX_CHAIN;
use crate::InvalidSchema;
use crate::node::{Keyword, Node, NodeId};

/// The known length of the chains from a node.
#[derive(Clone, Copy)]
enum Length {
    Unknown,
    /// The node is part of the current chain.
    InProgress,
    Known(usize),
}

struct Chains<'n> {
    nodes: &'n [Node],
    lengths: Vec<Length>,
}

/// Fails if a chain is too long. Makes a shortcut if a schema only contains a reference.
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
    /// The length of the longest chain from a node. This many other schemas precede the node in its chain.
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

/// The end of a chain of schemas of one resource that only contain a reference.
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
