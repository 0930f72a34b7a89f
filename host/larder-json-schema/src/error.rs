//! Why a schema or a value is not valid.

use crate::compile::{MAX_CHAIN, MAX_NESTING};
use crate::effort::EffortError;

/// Why a schema cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the variants mean")]
pub enum InvalidSchema {
    #[error("it is nested more than {MAX_NESTING} levels deep")]
    TooDeep,
    #[error(
        "more than {MAX_CHAIN} schemas apply to the same value through references or keywords such as `allOf`"
    )]
    LongChain,
    #[error(
        "a reference, or a keyword such as `allOf`, leads from a schema to itself for the same value"
    )]
    Endless,
    #[error("a schema must be an object or a boolean")]
    NoSchema,
    #[error("`{keyword}` must be {expected}")]
    Keyword {
        keyword: String,
        expected: &'static str,
    },
    #[error(
        "the regular expression {0} is invalid or too large, or has look-around or back references"
    )]
    Pattern(String),
    #[error("it refers to another document, which is not supported: `{0}`")]
    OtherDocument(String),
    #[error("the reference `{0}` leads to nothing in the schema")]
    MissingTarget(String),
    #[error("the `$schema` {0:?} is not supported; use draft 2020-12, 2019-09, 7, 6 or 4")]
    UnknownDraft(String),
}

/// Why a value is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// The value does not match the schema. The texts say where and why.
    #[error("{0}")]
    Mismatch(String),
    /// The validation takes too much effort.
    #[error("the schema needs too much time to validate this value")]
    TooMuchEffort,
    /// The schemas and values are nested so deeply that the validation would need too much stack.
    #[error("the schema and the value are nested too deeply")]
    TooDeep,
    /// The caller stopped the validation.
    #[error("the validation was stopped")]
    Stopped,
}

impl From<EffortError> for SchemaError {
    fn from(exhausted: EffortError) -> Self {
        match exhausted {
            EffortError::Effort => Self::TooMuchEffort,
            EffortError::Depth => Self::TooDeep,
            EffortError::Stopped => Self::Stopped,
        }
    }
}

impl InvalidSchema {
    pub(crate) fn expected(keyword: &str, expected: &'static str) -> Self {
        Self::Keyword {
            keyword: keyword.to_owned(),
            expected,
        }
    }
}
