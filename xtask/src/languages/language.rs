//! How the languages differ.

use anyhow::Result;

use crate::plugins::add_target;
use crate::run::{Output, command};
use crate::step::Outcome;
use crate::tools::{self, missing, succeeds};

/// Installs tools, or returns why they cannot be installed.
type Install = fn(&Output) -> Result<Option<Outcome>>;

/// A language in which a provider can be written.
pub(crate) struct Language {
    pub(crate) name: &'static str,
    pub(crate) install_tools: Install,
    /// The command lines in the README of the example that build it.
    pub(super) example: &'static [&'static str],
    /// The component that these commands create.
    pub(super) example_component: &'static str,
    /// The name of its projects.
    pub(super) project: &'static str,
    /// The command in the README of a project that runs its tests.
    pub(super) test: &'static str,
    /// The source file of a project that its author edits.
    pub(super) source: &'static str,
    /// The file of the trial in a project. It has the same name in `xtask/trials`.
    pub(super) trial: &'static str,
    /// The text in the log about the place of an exception in the trial, if the language reports the place.
    pub(super) error_location: Option<&'static str>,
    /// The text in the log about a guest that ends itself.
    pub(super) exit_message: &'static str,
    /// Whether the trial connects to a host with the sockets of its language.
    pub(super) has_sockets: bool,
    pub(super) development: Option<Development>,
}

/// A language with a development component, which loads the program, so that no component is built after a save.
pub(super) struct Development {
    /// A line that fails when the module runs.
    pub(super) failure: &'static str,
    /// The text that is printed for this failure, before the place.
    pub(super) message: &'static str,
    /// A file whose change builds the development component again. Python has none here: its trial imports modules that
    /// the component lacks, and so builds the component again.
    pub(super) dependencies: Option<&'static str>,
}

/// All languages.
pub(crate) const LANGUAGES: [Language; 7] = [
    RUST,
    GO,
    PYTHON,
    npm("javascript", "provider.js", "provider.js:"),
    // The log contains the place in the source instead of the place in the bundle.
    npm("typescript", "provider.ts", "provider.ts:"),
    make("c", "app.c", cc),
    make("cpp", "app.cpp", cc),
];

const RUST: Language = Language {
    example: &["cargo build --release --locked --target wasm32-wasip2 --target-dir target"],
    example_component: "target/wasm32-wasip2/release/changelog_rust.wasm",
    test: "cargo test",
    ..make("rust", "src/lib.rs", rust)
};

// A package that the SDK imports from Go's standard library has the same name.
const GO: Language = Language {
    project: "log",
    error_location: Some("main.go:"),
    ..make("go", "main.go", go)
};

const PYTHON: Language = Language {
    example: &["componentize-py -w interactive-provider componentize provider -o changelog.wasm"],
    test: "python test_provider.py",
    // The class of the provider is not in the main module of the component.
    trial: "trial.py",
    error_location: Some("trial.py"),
    has_sockets: true,
    development: Some(Development {
        failure: "raise ValueError(\"broken\")",
        message: "ValueError: broken",
        dependencies: None,
    }),
    ..make("python", "app.py", python)
};

const fn npm(name: &'static str, source: &'static str, error_location: &'static str) -> Language {
    Language {
        // The external packages are pinned, and pin their dependencies. A lock file would contain only the binaries for
        // the system on which it was created.
        example: &["npm install --no-package-lock", "npm run build"],
        test: "npm test",
        error_location: Some(error_location),
        exit_message: "expected string: FromJs",
        development: Some(Development {
            failure: "throw new RangeError(\"broken\");",
            message: "RangeError: broken",
            dependencies: Some("package.json"),
        }),
        ..make(name, source, node)
    }
}

/// A language whose projects are built with `make`. These values are common to such languages.
const fn make(name: &'static str, source: &'static str, install_tools: Install) -> Language {
    Language {
        name,
        install_tools,
        example: &["make LARDER=\"$LARDER\""],
        example_component: "changelog.wasm",
        project: "my-notes",
        test: "make test",
        source,
        trial: source,
        error_location: None,
        exit_message: "last words",
        has_sockets: false,
        development: None,
    }
}

fn rust(output: &Output) -> Result<Option<Outcome>> {
    add_target(output).map(|()| None)
}

fn python(output: &Output) -> Result<Option<Outcome>> {
    let installed = tools::author_tools(output)?;
    Ok(matches!(installed, Outcome::Skipped(_)).then_some(installed))
}

fn node(_output: &Output) -> Result<Option<Outcome>> {
    let new_enough = "process.exit(+(parseInt(process.versions.node) < 20))";
    if succeeds(command("node").args(["-e", new_enough]))
        && succeeds(command("npm").arg("--version"))
    {
        return Ok(None);
    }
    missing("Node 20 or newer with npm is not installed: https://nodejs.org").map(Some)
}

fn go(output: &Output) -> Result<Option<Outcome>> {
    tools::require_make_and(tools::go, output)
}

fn cc(output: &Output) -> Result<Option<Outcome>> {
    tools::require_make_and(tools::cc, output)
}
