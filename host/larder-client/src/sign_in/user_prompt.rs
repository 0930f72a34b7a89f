//! What the user has to do to sign in.

use std::sync::Arc;

/// An action of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserAction<'a> {
    /// Open this URL in a browser on this machine.
    OpenUrl(&'a str),
    /// Open a page on any machine, and enter a code there.
    EnterCode {
        /// The URL of the page.
        url: &'a str,
        /// The code.
        code: &'a str,
        /// The URL of the page with the code in it.
        url_with_code: Option<&'a str>,
    },
}

/// Asks the user for an action. Does not wait for it.
pub type UserPrompt = Arc<dyn Fn(UserAction<'_>) + Send + Sync>;
