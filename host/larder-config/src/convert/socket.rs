//! Converts addresses that may be Unix sockets.

use std::ops::Range;
use std::os::unix::net::SocketAddr;

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
        let folder = match at {
            WrittenAt::File(_) => &self.context.folder,
            WrittenAt::Option(_) => &self.context.working_dir,
        };
        let path = folder.join(path);
        if let Err(error) = SocketAddr::from_pathname(&path) {
            let message = format!(
                "{} cannot be the path of a Unix socket: {error}",
                path.display()
            );
            self.error_at(at, message);
        }
        ListenAddress::Unix {
            path,
            mode: mode.map_or(default, |mode| mode.0),
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
