//! Converts addresses that may be Unix sockets.

use std::ops::Range;
use std::os::unix::net::SocketAddr;
use std::path::Path;

use super::Conversion;
use crate::value::SocketMode;
use larder_mcp::ListenAddress;

/// Where an address is written.
pub(super) enum WrittenAt {
    /// In the file, at this position.
    File(Range<usize>),
    /// In this option of the command line.
    Option(&'static str),
}

impl Conversion<'_> {
    /// Makes the path of a Unix socket absolute, checks the path, and sets the permissions of the socket's file. Other
    /// addresses stay the same.
    pub(super) fn absolute_socket(
        &mut self,
        address: ListenAddress,
        mode: Option<SocketMode>,
        at: &WrittenAt,
    ) -> ListenAddress {
        let ListenAddress::Unix {
            path,
            mode: default,
        } = address
        else {
            return address;
        };
        let path = self.folder_of(at).join(path);
        if let Err(message) = check_path(&path) {
            self.error_at(at, message);
        }
        ListenAddress::Unix {
            path,
            mode: mode.map_or(default, |mode| mode.0),
        }
    }

    /// Returns the folder to which a path is relative.
    fn folder_of(&self, at: &WrittenAt) -> &Path {
        match at {
            WrittenAt::File(_) => &self.context.folder,
            WrittenAt::Option(_) => &self.context.working_dir,
        }
    }

    /// Reports an error in an address.
    pub(super) fn error_at(&mut self, at: &WrittenAt, message: String) {
        match at {
            WrittenAt::File(at) => self.error(at, message),
            WrittenAt::Option(option) => self.error_for_key(option, message),
        }
    }
}

fn check_path(path: &Path) -> Result<(), String> {
    SocketAddr::from_pathname(path).map(drop).map_err(|error| {
        let path = path.display();
        format!("{path} cannot be the path of a Unix socket: {error}")
    })
}
