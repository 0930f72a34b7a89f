//! The store of the test of `s3`: s3rver, a server in Node that checks signatures.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Stdio};

use anyhow::{Context as _, Result, ensure};

use super::Surroundings;
use crate::run::{Output, command, root, target};
use crate::step::Outcome;
use crate::tools;

/// The access key of the store.
const KEY: &str = "S3RVER";
const SECRET: &str = "secret-of-s3rver";
/// Older versions of curl do not add this header, and the signature includes it.
const UNSIGNED: &str = "x-amz-content-sha256: UNSIGNED-PAYLOAD";
const PACKAGE: &str = "s3rver@3.7.1";

pub(crate) fn check(output: &Output) -> Result<Outcome> {
    super::check(output, "s3", prepare)
}

struct Store(Child);

impl Drop for Store {
    fn drop(&mut self) {
        // This fails only if the store has already ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(super) fn prepare(output: &Output, folder: &Path) -> Result<Surroundings> {
    if !tools::succeeds(command("curl").arg("--version")) {
        return Surroundings::missing("curl is not installed; get it from your system's packages");
    }
    let packages = target("providers/s3");
    if let Outcome::Skipped(reason) = tools::npm_package(output, &packages, PACKAGE)? {
        return Surroundings::missing(&reason);
    }
    let mut node = command("node");
    // s3rver encrypts the tokens of its lists with an old algorithm.
    node.arg("--openssl-legacy-provider")
        .arg(root().join("plugins/s3/tests/store.cjs"))
        .arg(&packages)
        .arg(folder)
        .arg(SECRET);
    // The store ends when its standard input ends, even if this process is killed.
    let mut child = node
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("the store")?;
    let stdout = child.stdout.take().context("stdout is a pipe")?;
    let store = Store(child);
    let mut url = String::new();
    BufReader::new(stdout).read_line(&mut url)?;
    let url = url.trim().to_owned();
    ensure!(!url.is_empty(), "the store printed no URL");
    fill(&url, folder)?;
    let variables = vec![("STORE", url), ("SECRET", SECRET.to_owned())];
    Ok(Surroundings {
        variables,
        servers: vec![Box::new(store)],
        ..Surroundings::default()
    })
}

/// Stores the objects of the test with one curl process.
fn fill(url: &str, folder: &Path) -> Result<()> {
    let large = "x".repeat(65 << 10);
    let mut objects = vec![
        ("docs/plan.md".to_owned(), "# Plan\n\nRoses.\n"),
        ("docs/a%20b.txt".to_owned(), "space\n"),
        ("docs/logo.png".to_owned(), "\u{1}PNG"),
        ("docs/large.txt".to_owned(), &large),
        ("docs/deep/one.txt".to_owned(), "one"),
        ("private/key".to_owned(), "hidden"),
    ];
    objects.extend((0..1_100).map(|number| (format!("docs/many/{number:04}.txt"), "many")));
    let file = folder.join("objects.curl");
    let mut config = fs::File::create(&file)?;
    for (number, (key, content)) in objects.iter().enumerate() {
        let source = folder.join(format!("object-{}", number.min(6)));
        fs::write(&source, content)?;
        let next = if number == 0 { "" } else { "next\n" };
        writeln!(
            config,
            "{next}url = \"{url}/team/{key}\"\nupload-file = \"{}\"\naws-sigv4 = \"aws:amz:us-east-1:s3\"\n\
             user = \"{KEY}:{SECRET}\"\nheader = \"{UNSIGNED}\"\nfail\nsilent\noutput = \"/dev/null\"",
            source.display()
        )?;
    }
    let filled = command("curl")
        .arg("--config")
        .arg(&file)
        .status()
        .context("curl")?;
    ensure!(
        filled.success(),
        "curl could not store the objects of the test"
    );
    Ok(())
}
