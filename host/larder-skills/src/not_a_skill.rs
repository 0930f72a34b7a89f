//! Why a folder with a `SKILL.md` is not a skill or a page is not offered, and the limits of a skill.

use super::front_matter::FrontMatterError;

/// Limits of one skill, from the extension. Every client can load a skill within them.
pub(crate) const MAX_FILES: usize = 512;
pub(crate) const MAX_BYTES: u64 = 16 << 20;

/// Why a folder with a `SKILL.md` is not offered as a skill.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotASkill {
    /// The front matter cannot be used.
    #[error(transparent)]
    FrontMatter(#[from] FrontMatterError),
    /// `SKILL.md` is not text.
    #[error("its SKILL.md is not text in UTF-8")]
    NotText,
    /// The name is not the name of the folder.
    #[error("its name is `{name}`, but its folder is `{folder}`: both must be the same")]
    OtherFolder {
        /// The name in the front matter.
        name: String,
        /// The last folder in the URI.
        folder: String,
    },
    /// The skill has too many files.
    #[error("it has more than {MAX_FILES} files")]
    TooManyFiles,
    /// The files are too large.
    #[error("its files are larger than {} MiB", MAX_BYTES >> 20)]
    TooLarge,
    /// A client would resolve a part of a URI.
    #[error("`{0}` has a part `.` or `..`")]
    DotSegment(String),
    /// A file does not have exactly one content.
    #[error("`{0}` has not exactly one content with its own URI")]
    SeveralContents(String),
    /// A file cannot be read.
    #[error("`{uri}` cannot be read: {message}")]
    Unreadable {
        /// The URI of the file.
        uri: String,
        /// Why.
        message: String,
    },
    /// A file depends on its reader.
    #[error("`{0}` can only be read by a caller, and skills and pages are read without one")]
    NeedsCaller(String),
    /// The list of the provider depends on its caller.
    #[error(
        "the list of its provider depends on the caller, and skills are the same for all callers"
    )]
    PersonalList,
    /// The list of the provider is too long, so that files may be missing.
    #[error("the list of its provider has too many pages or too many files of skills")]
    PartialList,
    /// A file never had the state that the list of the provider says.
    #[error("`{0}` changed each time it was read")]
    Unstable(String),
    /// An operator rejected the content.
    #[error("an operator rejected its content")]
    Rejected,
    /// The skills of the team need too much memory.
    #[error("the skills of the team are larger than {} MiB together", .0 >> 20)]
    NoRoom(u64),
}
