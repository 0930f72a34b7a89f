//! A query that lets threads of higher priority run while it compares documents.

use larder_runtime::low_priority_threads;
use tantivy::query::{EnableScoring, Explanation, Query, Scorer, Weight};
use tantivy::{DocId, DocSet, Score, SegmentReader};

/// Documents that are compared between two pauses, which takes less than a tenth of a millisecond.
const DOCUMENTS: u32 = 256;

#[derive(Debug)]
pub(crate) struct PausingQuery(Box<dyn Query>);

struct PausingWeight(Box<dyn Weight>);

struct PausingScorer {
    scorer: Box<dyn Scorer>,
    /// Documents since the last pause.
    compared: u32,
}

impl PausingQuery {
    pub(crate) fn new(query: Box<dyn Query>) -> Self {
        Self(query)
    }
}

impl Clone for PausingQuery {
    fn clone(&self) -> Self {
        Self(self.0.box_clone())
    }
}

impl Query for PausingQuery {
    fn weight(&self, scoring: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        let weight = self.0.weight(scoring)?;
        Ok(Box::new(PausingWeight(weight)))
    }
}

impl Weight for PausingWeight {
    fn scorer(&self, reader: &SegmentReader, boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        let scorer = self.0.scorer(reader, boost)?;
        Ok(Box::new(PausingScorer {
            scorer,
            compared: 0,
        }))
    }

    fn explain(&self, reader: &SegmentReader, document: DocId) -> tantivy::Result<Explanation> {
        self.0.explain(reader, document)
    }
}

impl DocSet for PausingScorer {
    fn advance(&mut self) -> DocId {
        self.compared += 1;
        if self.compared == DOCUMENTS {
            self.compared = 0;
            low_priority_threads::pause();
        }
        self.scorer.advance()
    }

    fn doc(&self) -> DocId {
        self.scorer.doc()
    }

    fn size_hint(&self) -> u32 {
        self.scorer.size_hint()
    }
}

impl Scorer for PausingScorer {
    fn score(&mut self) -> Score {
        self.scorer.score()
    }
}
