//! What a listener of several catalogs last saw. It shows whether a change in one catalog changes what the listener
//! sees.

use std::fmt;

use parking_lot::Mutex;

use super::Lists;
use crate::catalog::seen_lists::SeenLists;

/// What a listener of several catalogs last saw.
pub(in crate::catalog) struct LastSeenLists {
    read: Box<dyn Fn() -> SeenLists + Send + Sync>,
    /// None if every change must be reported.
    last: Mutex<Option<SeenLists>>,
}

impl LastSeenLists {
    /// `read` returns the current lists.
    pub(in crate::catalog) fn new(read: impl Fn() -> SeenLists + Send + Sync + 'static) -> Self {
        Self {
            read: Box::new(read),
            last: Mutex::default(),
        }
    }

    /// From now on, compares with the current lists.
    pub(in crate::catalog) fn remember(&self) {
        self.set(Some((self.read)()));
    }

    /// Reports the next change of each list without a comparison.
    pub(in crate::catalog) fn forget(&self) {
        self.set(None);
    }

    /// Returns the lists of these that differ for the listener. Another list may have changed as well: it is compared
    /// when its change is reported.
    pub(in crate::catalog) fn confirm(&self, changed: Lists) -> Lists {
        if !changed.tools && !changed.prompts {
            return changed;
        }
        let now = (self.read)();
        let mut last = self.last.lock();
        let before = last.unwrap_or(now);
        let is_unknown = last.is_none();
        *last = Some(SeenLists {
            tools: if changed.tools {
                now.tools
            } else {
                before.tools
            },
            prompts: if changed.prompts {
                now.prompts
            } else {
                before.prompts
            },
        });
        Lists {
            tools: changed.tools && (is_unknown || before.tools != now.tools),
            prompts: changed.prompts && (is_unknown || before.prompts != now.prompts),
            ..changed
        }
    }

    fn set(&self, seen: Option<SeenLists>) {
        *self.last.lock() = seen;
    }
}

impl fmt::Debug for LastSeenLists {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LastSeenLists")
    }
}
