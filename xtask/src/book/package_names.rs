//! Checks that no document tells its readers to install a package of somebody else: on npm and PyPI, `larder` and
//! similar names do not belong to this project.

use crate::dist::wrappers::NAME;

/// The commands that install or run a package.
const COMMANDS: [&str; 9] = [
    "npm install ",
    "npm i ",
    "npx ",
    "bunx ",
    "pip install ",
    "pipx install ",
    "pipx run ",
    "uv tool install ",
    "uvx ",
];

/// The packages with the name of this project that a text installs, and that are not its packages.
pub(super) fn foreign_packages(text: &str) -> Vec<&str> {
    COMMANDS
        .iter()
        .flat_map(|command| text.split(command).skip(1))
        .filter_map(package)
        .filter(|name| name.starts_with("larder") && *name != NAME)
        .collect()
}

/// The name of the package in the arguments of a command, without its version.
fn package(arguments: &str) -> Option<&str> {
    let line = arguments.lines().next()?;
    let argument = line
        .split_whitespace()
        .find(|argument| !argument.starts_with('-'))?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '/');
    argument.split(|c| !is_name(c)).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_packages_of_others() {
        let text =
            "`npx larder up`\nuvx larder@1\npip install -q larder==0.1.0\nnpx -y larder-server\n";
        let found = foreign_packages(text);
        assert_eq!(found, ["larder", "larder-server", "larder", "larder"]);
    }

    #[test]
    fn accepts_the_packages_of_this_project_and_other_packages() {
        let text = "npx -y larder-mcp up\n`uvx larder-mcp@0.1.0`\npip install ziglang==0.17.0\nnpx jco\nnpx\n";
        assert_eq!(foreign_packages(text), [""; 0]);
    }
}
