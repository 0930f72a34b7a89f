//! Compares the verification of signatures with the package `sigstore` for Python.

use anyhow::Result;

use crate::linted_build::linted;
use crate::run::{Output, root, target};
use crate::step::Outcome;
use crate::test_log::count_tests;
use crate::tools;

pub(crate) fn check(output: &Output) -> Result<Outcome> {
    let (venv, requirements) = (
        target("clients/sigstore"),
        root().join("host/tests/clients/sigstore/requirements.txt"),
    );
    if let Outcome::Skipped(reason) = tools::venv(output, &venv, &requirements, &["--no-deps"])? {
        return Ok(Outcome::Skipped(reason));
    }
    let filter = "package(larder-signature) and test(/python::/)";
    let mut tests = if tools::has_nextest() {
        linted(&[
            "nextest",
            "run",
            "--workspace",
            "--no-capture",
            "-E",
            filter,
        ])
    } else {
        linted(&["test", "--workspace", "--lib", "python::"])
    };
    output.run(tests.env("LARDER_TEST_SIGSTORE_PYTHON", venv.join("bin/python")))?;
    Ok(Outcome::PassedWithNote(count_tests(&output.contents())))
}
