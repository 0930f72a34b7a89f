//! The native tests of `feeds`, and the web server of its test.

use std::path::Path;

use anyhow::Result;

use super::{Surroundings, web};
use crate::run::{Output, command, root, target};
use crate::step::Outcome;

pub(crate) fn check(output: &Output) -> Result<Outcome> {
    let tests = [
        "-B",
        "-m",
        "unittest",
        "discover",
        "-s",
        "tests",
        "-p",
        "test_*.py",
    ];
    let mut python = command(target("clients/venv/bin/python"));
    python.args(tests).current_dir(root().join("plugins/feeds"));
    output.run(python.env("PYTHONPATH", root().join("sdk/python")))?;
    super::check(output, "feeds", prepare)
}

pub(super) fn prepare(_: &Output, folder: &Path) -> Result<Surroundings> {
    web::serve("feeds", folder)
}
