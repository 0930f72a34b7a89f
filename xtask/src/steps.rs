//! The list of all steps of `cargo xtask test`, and the steps that consist only of cargo commands.

use anyhow::Result;

use crate::linted_build::{build_server, linted};
use crate::run::{self, Output, cargo};
use crate::step::{Outcome, Step, Weight};
use crate::test_log::count_tests;
use crate::{
    book, clients, conformance, demo, deny, emulation, examples, features, first_command,
    frameworks, languages, lints, packaging, page, platforms, plugins, providers, random_answers,
    registry, replicas, sdks, signatures, teams, tools, tools_only, wit,
};

/// The host with xtask; the providers with their SDK; the guests of the integration tests.
const WORKSPACES: [&str; 3] = [
    "Cargo.toml",
    "plugins/Cargo.toml",
    "host/tests/guests/Cargo.toml",
];

macro_rules! steps {
    ($($weight:ident $name:literal, $about:literal, $needs:expr, $run:expr;)*) => {
        &[$(Step { name: $name, about: $about, weight: Weight::$weight, needs: &$needs, run: $run }),*]
    };
}

// Cheap steps come first, so that simple errors are reported within seconds. Steps that most other steps need come
// next, so that light steps can run at the same time as the remaining heavy steps.
pub(crate) const STEPS: &[Step] = steps![
    Light "fmt", "rustfmt, in all workspaces", [], fmt;
    Light "book", "the book has every page, and no broken link", [], book::check;
    Light "wit", "the files of the contract have one version and no copies", [], wit::check;
    Light "crates-of-demo", "the number of crates that the first command of the README compiles", [], first_command::check_crates;
    Heavy "plugins", "build the providers", [], |o| passed(plugins::plugins(o));
    Heavy "host", "build the server", [], |o| passed(build_server(o));
    Heavy "guests", "build the guests of the integration tests", [], |o| passed(plugins::guests(o));
    Heavy "clippy", "clippy, for what the builds of the tests do not compile", [], lints::check;
    Heavy "features", "clippy, for the server without its optional parts", ["host"], features::check_without;
    Light "platform-fallbacks", "tests of the functions for systems other than Linux", [], platforms::check_fallbacks;
    Heavy "deny", "licences, banned crates and sources of all dependencies", [], deny::run;
    Heavy "tests", "unit and integration tests of the host", ["plugins", "guests", "host"], host_tests;
    Heavy "registry", "components from docker-registry, and what wkg pushed", ["plugins", "guests", "host"], registry::check;
    Heavy "signatures", "bundles of Sigstore, judged by its Python package too", ["host"], signatures::check;
    Heavy "plugin-tests", "tests of the providers and their SDK, native", [], plugin_tests;
    Light "book-examples", "the commands and configurations of the book", ["plugins", "host"], book::run_examples;
    Light "demo", "read the demo with larder's client", ["plugins", "host"], |o| passed(demo::read_complete(o));
    Light "packaging-systemd", "the units for systemd, with sockets and notifications", ["plugins", "host"], packaging::systemd::check;
    Light "packaging-monitoring", "alert rules and the dashboard, with promtool", ["plugins", "host"], packaging::monitoring::check;
    Light "packaging-kubernetes", "the manifests for Kubernetes", ["plugins", "host"], packaging::kubernetes::check;
    Light "packaging-container", "the file system of the container", ["plugins", "host"], packaging::container::check;
    Light "packaging-proxy", "the example for nginx, with TLS and streams", ["plugins", "host"], packaging::proxy::check;
    Light "packaging-man", "the manual pages", ["host"], packaging::man::check;
    Light "author-tools", "install componentize-py, Go and Zig", [], tools::author_tools;
    Light "sdk-python", "tests of the Python SDK, native", [], sdks::python;
    Light "sdk-javascript", "tests of the JavaScript SDK, native", [], sdks::javascript;
    Light "sdk-typescript", "the types of the JavaScript SDK", [], sdks::typescript;
    Light "sdk-go", "tests of the Go SDK, native, and its bindings", ["host"], sdks::go;
    Light "sdk-c", "the C SDK as C and as C++, and its tests, native with sanitizers", ["host"], sdks::c;
    Light "sdk-cpp", "the C++ SDK, and its tests, native with sanitizers", ["host"], sdks::cpp;
    Heavy "language-rust", "the example, new projects and a provider with faulty behaviour, in Rust", ["host"], |o| languages::check(o, "rust");
    Light "language-python", "the same in Python", ["host", "author-tools"], |o| languages::check(o, "python");
    Light "language-javascript", "the same in JavaScript", ["host"], |o| languages::check(o, "javascript");
    Light "language-typescript", "the same in TypeScript", ["host"], |o| languages::check(o, "typescript");
    Light "language-go", "the same in Go", ["host"], |o| languages::check(o, "go");
    Light "language-c", "the same in C", ["host"], |o| languages::check(o, "c");
    Light "language-cpp", "the same in C++", ["host"], |o| languages::check(o, "cpp");
    Light "two-teams", "the example with two teams", ["plugins", "host"], |o| passed(teams::check(o));
    Light "node-page", "install the Node packages that drive Chromium", [], tools::node_page;
    Light "page", "the page for operators, in Chromium", ["plugins", "guests", "host", "node-page"], page::check;
    Light "node", "install Node packages", [], tools::node;
    Light "python", "install Python packages", [], tools::python;
    Light "conformance-0.1", "official suite 0.1.16, 2025-11-25", ["plugins", "host", "node"], conformance::first_2025;
    Light "conformance-0.2-2025", "official suite 0.2, 2025-11-25", ["plugins", "host", "node"], conformance::second_2025;
    Light "conformance-0.2-2026", "official suite 0.2, 2026-07-28", ["plugins", "host", "node"], conformance::second_2026;
    Light "conformance-0.2-skills", "official suite 0.2, the skills extension", ["plugins", "host", "node"], conformance::skills;
    Light "sign-in-2025", "official suite 0.2, the authorization of clients in 2025-11-25", ["host", "node"], conformance::sign_in_2025;
    Light "sign-in-2026", "the same in 2026-07-28", ["host", "node"], conformance::sign_in_2026;
    Light "sign-in-oidc-provider", "sign in to the server with oidc-provider, in a browser and with a device code", ["plugins", "host", "node"], clients::oidc_provider;
    Light "apps", "the official example apps through the provider remote, judged by their own package", ["plugins", "host", "node"], clients::apps;
    Light "apps-browser", "the app of sqlite and a hostile app in Chromium, with the official AppBridge", ["plugins", "host", "node", "node-page"], clients::apps_browser;
    Light "clients-ts-v1", "TypeScript SDK 1", ["plugins", "host", "node"], clients::ts_v1;
    Light "clients-ts-v2", "TypeScript SDK 2", ["plugins", "host", "node"], clients::ts_v2;
    Light "clients-inspector", "the command line of the MCP inspector", ["plugins", "host", "node"], clients::inspector;
    Light "clients-python", "Python SDK", ["plugins", "host", "python"], clients::python;
    Heavy "replicas", "three replicas with NATS, HAProxy and nginx, killed and restarted under load", ["plugins", "host", "python"], replicas::check;
    Light "clients-tools-only-typescript", "clients that only support tools, with both TypeScript SDKs", ["plugins", "host", "node"], tools_only::typescript;
    Light "clients-tools-only-python", "the same with the Python SDK", ["plugins", "host", "python"], tools_only::python;
    Light "clients-frameworks-sdk1", "LangChain and mcpadapt, with Python SDK 1", ["plugins", "host"], frameworks::python_sdk_1;
    Light "clients-frameworks-sdk2", "OpenAI Agents SDK and pydantic-ai, with Python SDK 2", ["plugins", "host"], frameworks::python_sdk_2;
    Light "clients-frameworks-llama", "LlamaIndex, with Python SDK 2", ["plugins", "host"], frameworks::llama_index;
    Light "clients-frameworks-javascript", "LangChain in JavaScript", ["plugins", "host", "node"], frameworks::javascript;
    Light "provider-files", "the provider files, used by the Python SDK", ["plugins", "host", "python"], providers::files::check;
    Light "provider-notes", "the same with notes", ["plugins", "host", "python"], providers::notes::check;
    Light "provider-git", "the same with git", ["plugins", "host", "python"], providers::git::check;
    Light "provider-http", "the same with http", ["plugins", "host", "python"], providers::http::check;
    Light "provider-openapi", "the same with openapi", ["plugins", "host", "python"], providers::openapi::check;
    Light "provider-feeds", "the same with feeds, and its native tests", ["plugins", "host", "python"], providers::feeds::check;
    Light "provider-s3", "the same with s3", ["plugins", "host", "python"], providers::s3::check;
    Light "provider-remote", "the same with remote", ["plugins", "host", "python"], providers::remote::check;
    Light "provider-sqlite", "the same with sqlite", ["plugins", "host", "python"], providers::sqlite::check;
    Light "provider-postgres", "the same with postgres, a real server with TLS", ["plugins", "host", "python"], providers::postgres::check;
    Light "random-answers-typescript", "random answers of providers, read by the TypeScript SDKs", ["guests", "host", "node"], random_answers::typescript;
    Light "random-answers-python", "the same, read by the Python SDK", ["guests", "host", "python"], random_answers::python;
    Light "client-examples-larder", "examples/clients with larder's commands", ["plugins", "guests", "host"], examples::larder;
    Light "client-examples-curl", "examples/clients with curl", ["plugins", "guests", "host"], examples::curl;
    Light "client-examples-typescript", "examples/clients in TypeScript", ["plugins", "guests", "host", "node"], examples::typescript;
    Light "client-examples-python", "examples/clients in Python", ["plugins", "guests", "host", "python"], examples::python;
];

/// The steps that only a release needs: `cargo xtask test release`, which `cargo xtask dist` runs too.
pub(crate) const RELEASE_STEPS: &[Step] = steps![
    Heavy "first-command", "the first command of the README, from nothing, and its CPU time", [], first_command::check;
    Heavy "rustdoc", "rustdoc without warnings", [], rustdoc;
    Heavy "crates", "the packages of the crates compile on their own", [], packaging::crates::check;
    Heavy "features-alone", "clippy, for the server with each of its optional parts alone", ["host"], features::check_each;
    Heavy "lints", "clippy for the benchmark and the fuzz targets", [], lints::check_benchmark_and_fuzzing;
    Heavy "platforms", "the program compiles for macOS, on both processors", ["author-tools"], platforms::check;
    Heavy "aarch64", "the program for Linux on aarch64, run by QEMU", ["plugins", "host"], emulation::check;
    Heavy "mdbook", "the book builds with mdBook", [], book::build;
    Light "packaging-archive", "the archive of a release, with licences and an SBOM", ["plugins", "host"], packaging::archive::check;
    Light "packaging-deb", "the package for Debian, installed and removed by dpkg", ["plugins", "host"], packaging::deb::check;
    Light "packaging-homebrew", "the formula for Homebrew, read by Ruby", ["plugins", "host"], packaging::homebrew::check;
    Light "packaging-wrappers", "the packages for npx and uvx, installed from files", ["plugins", "host"], packaging::wrappers::check;
    Light "packaging-registries", "npx and uvx, with packages that were published to registries of this machine", ["plugins", "host"], packaging::registries::check;
    Light "packaging-mcpb", "the bundle for Claude Desktop, unpacked with the official tool", ["plugins", "host"], packaging::mcpb::check;
    Heavy "simulations", "two tests of replicas without a network: 100 simulated replicas, and 10,000 random cases", ["host"], simulations;
    Heavy "wkg", "components from wkg, and for it, with docker-registry", ["plugins", "guests", "host"], registry::check_wkg;
];

/// All steps. Steps that other steps need come first.
pub(crate) fn all_steps() -> impl DoubleEndedIterator<Item = &'static Step> + Clone {
    STEPS.iter().chain(RELEASE_STEPS)
}

fn passed(result: Result<()>) -> Result<Outcome> {
    result.map(|()| Outcome::Passed)
}

fn fmt(output: &Output) -> Result<Outcome> {
    for manifest in WORKSPACES
        .into_iter()
        .chain(["bench/Cargo.toml", "fuzz/Cargo.toml"])
    {
        let check = [
            "fmt",
            "--all",
            "--check",
            "--manifest-path",
            manifest,
            "--",
            "--color=never",
        ];
        output.run(&mut cargo(&check))?;
    }
    // `cargo fmt` needs the SDK, which is not in the folder of the example.
    let example = [
        "--edition",
        "2024",
        "--check",
        "--color=never",
        "examples/changelog-rust/src/lib.rs",
    ];
    output.run(
        run::command("rustfmt")
            .args(example)
            .current_dir(run::root()),
    )?;
    Ok(Outcome::Passed)
}

/// Runs the tests with nextest if it is installed. nextest does not run documentation tests, so cargo runs these.
fn host_tests(output: &Output) -> Result<Outcome> {
    // If NATS cannot be installed, the tests of larder-cluster skip the parts that need it.
    tools::debian_package(output, "nats-server", "nats-server")?;
    if tools::has_nextest() {
        let mut tests = linted(&["nextest", "run", "--workspace", "--no-fail-fast"]);
        // The step `registry` runs the other tests.
        output.run(tests.args(["-E", &format!("not ({})", registry::TESTS)]))?;
        output.run(&mut linted(&["test", "--workspace", "--doc"]))?;
    } else {
        output.run(&mut linted(&["test", "--workspace", "--no-fail-fast"]))?;
    }
    let log = output.contents();
    Ok(Outcome::PassedWithNote(count_tests(&log)))
}

/// The tests of replicas without a network, in sizes that take minutes.
fn simulations(output: &Output) -> Result<Outcome> {
    let test = ["test", "--workspace", "--lib", "--"];
    let mut model = linted(&test);
    model.arg("replica_model").env("PROPTEST_CASES", "10000");
    output.run(&mut model)?;
    output.run(linted(&test).args(["--ignored", "replica::simulation"]))?;
    Ok(Outcome::PassedWithNote(count_tests(&output.contents())))
}

/// Quick checks after an edit: formatting, lints and unit tests of the host.
pub(crate) fn check(output: &Output) -> Result<()> {
    output.run(&mut cargo(&["fmt", "--all", "--check"]))?;
    let test: &[&str] = if tools::has_nextest() {
        &["nextest", "run"]
    } else {
        &["test"]
    };
    output.run(linted(test).args(["--workspace", "--lib", "--bins"]))
}

fn plugin_tests(output: &Output) -> Result<Outcome> {
    output.run(&mut linted(&[
        "test",
        "--workspace",
        // The step `tests` has the tests of this crate of the host.
        "--exclude",
        "larder-uri-template",
        "--all-features",
        "--manifest-path",
        "plugins/Cargo.toml",
    ]))?;
    Ok(Outcome::PassedWithNote(count_tests(&output.contents())))
}

fn rustdoc(output: &Output) -> Result<Outcome> {
    for manifest in &WORKSPACES[..2] {
        let mut doc = cargo(&[
            "doc",
            "--quiet",
            "--no-deps",
            "--workspace",
            "--manifest-path",
            manifest,
        ]);
        if *manifest == WORKSPACES[1] {
            doc.arg("--all-features");
        }
        output.run(doc.env("RUSTDOCFLAGS", "-D warnings"))?;
    }
    Ok(Outcome::Passed)
}
