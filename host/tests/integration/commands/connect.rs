//! `larder connect`: edits of the configuration files of MCP clients. Other parts of a file must not change, and no
//! content may be lost, also if the file has errors.

mod clients;
mod files;

use std::path::Path;

use crate::support::process::{ProcessOutput, WorkDir, path_arg};

/// A working directory with a configuration, so that clients can start larder with it.
fn work_dir() -> WorkDir {
    let work_dir = WorkDir::with_guests("echo").file("larder.toml", "");
    std::fs::create_dir(work_dir.path("client")).unwrap();
    work_dir
}

/// A file of a client, in a folder of its own.
struct ClientFile<'a> {
    work_dir: &'a WorkDir,
    client: &'a str,
}

impl<'a> ClientFile<'a> {
    fn new(work_dir: &'a WorkDir, client: &'a str, content: &[u8]) -> Self {
        let file = Self { work_dir, client };
        std::fs::write(file.path(), content).unwrap();
        file
    }

    fn path(&self) -> std::path::PathBuf {
        self.work_dir.path("client/file")
    }

    fn backup(&self) -> std::path::PathBuf {
        self.work_dir.path("client/file.larder-backup")
    }

    fn bytes(&self) -> Vec<u8> {
        std::fs::read(self.path()).unwrap()
    }

    fn text(&self) -> String {
        String::from_utf8(self.bytes()).unwrap()
    }

    /// Runs the command for this file.
    fn connect(&self, options: &str) -> ProcessOutput {
        connect(self.work_dir, self.client, &self.path(), options)
    }
}

fn connect(work_dir: &WorkDir, client: &str, file: &Path, options: &str) -> ProcessOutput {
    work_dir.larder(&format!(
        "connect {client} --file {} {options}",
        path_arg(file)
    ))
}
