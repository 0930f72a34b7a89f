//! The paths of the configuration files of the clients.

use std::path::{Path, PathBuf};

use super::client::Client;
use super::error::ConnectError;

/// The kind of system, which decides where programs keep their files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Platform {
    Linux,
    MacOs,
    Windows,
}

/// For whom the server is configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope<'a> {
    /// All projects of this user.
    User,
    /// The project in this folder.
    Project(&'a Path),
}

impl Platform {
    pub(crate) fn current() -> Self {
        match std::env::consts::OS {
            "macos" => Self::MacOs,
            "windows" => Self::Windows,
            _ => Self::Linux,
        }
    }
}

/// Returns the file of a client. `variable` reads the environment.
pub(crate) fn file_of(
    client: Client,
    scope: Scope<'_>,
    platform: Platform,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<PathBuf, ConnectError> {
    match scope {
        Scope::Project(folder) => {
            let file = project_file(client).ok_or(ConnectError::NoProjectFile(client))?;
            Ok(folder.join(file))
        }
        Scope::User => Folders { platform, variable }.user_file(client),
    }
}

fn project_file(client: Client) -> Option<&'static str> {
    match client {
        Client::ClaudeCode => Some(".mcp.json"),
        Client::VsCode => Some(".vscode/mcp.json"),
        Client::Cursor => Some(".cursor/mcp.json"),
        Client::Zed => Some(".zed/settings.json"),
        Client::Codex => Some(".codex/config.toml"),
        Client::ClaudeDesktop | Client::Windsurf => None,
    }
}

/// The folders of a user.
struct Folders<'a> {
    platform: Platform,
    variable: &'a dyn Fn(&str) -> Option<String>,
}

impl Folders<'_> {
    fn user_file(&self, client: Client) -> Result<PathBuf, ConnectError> {
        Ok(match client {
            Client::ClaudeDesktop => self
                .settings()?
                .join("Claude")
                .join("claude_desktop_config.json"),
            Client::ClaudeCode => self.own("CLAUDE_CONFIG_DIR", "")?.join(".claude.json"),
            Client::VsCode => self.settings()?.join("Code").join("User").join("mcp.json"),
            Client::Cursor => self.home()?.join(".cursor").join("mcp.json"),
            Client::Zed => self.zed()?.join("settings.json"),
            Client::Windsurf => self
                .home()?
                .join(".codeium")
                .join("windsurf")
                .join("mcp_config.json"),
            Client::Codex => self.own("CODEX_HOME", ".codex")?.join("config.toml"),
        })
    }

    /// An absolute path from the environment.
    fn path(&self, name: &str) -> Option<PathBuf> {
        // Whether a path is absolute depends on the system that runs this code, and tests use the paths of all three
        // systems.
        (self.variable)(name)
            .filter(|path| !path.is_empty())
            .map(PathBuf::from)
    }

    fn home(&self) -> Result<PathBuf, ConnectError> {
        let name = if self.platform == Platform::Windows {
            "USERPROFILE"
        } else {
            "HOME"
        };
        self.path(name).ok_or(ConnectError::NoHome(name))
    }

    /// A folder that a variable of the client can change.
    fn own(&self, name: &str, default: &str) -> Result<PathBuf, ConnectError> {
        match self.path(name) {
            Some(folder) => Ok(folder),
            None if default.is_empty() => self.home(),
            None => Ok(self.home()?.join(default)),
        }
    }

    /// The folder for the settings of programs.
    fn settings(&self) -> Result<PathBuf, ConnectError> {
        match self.platform {
            Platform::Linux => self.own("XDG_CONFIG_HOME", ".config"),
            Platform::MacOs => Ok(self.home()?.join("Library").join("Application Support")),
            Platform::Windows => match self.path("APPDATA") {
                Some(folder) => Ok(folder),
                None => Ok(self.home()?.join("AppData").join("Roaming")),
            },
        }
    }

    /// On macOS, Zed uses `.config` too.
    fn zed(&self) -> Result<PathBuf, ConnectError> {
        match self.platform {
            Platform::Linux => Ok(self.settings()?.join("zed")),
            Platform::MacOs => Ok(self.home()?.join(".config").join("zed")),
            Platform::Windows => Ok(self.settings()?.join("Zed")),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum as _;
    use expect_test::{Expect, expect};

    use super::*;

    fn check(platform: Platform, variables: &[(&str, &str)], expected: Expect) {
        let variable = |name: &str| {
            variables
                .iter()
                .find(|(found, _)| *found == name)
                .map(|(_, value)| (*value).to_owned())
        };
        let files = Client::value_variants().iter().map(|client| {
            match file_of(*client, Scope::User, platform, &variable) {
                Ok(file) => format!("{}\n", file.display()),
                Err(error) => format!("{error}\n"),
            }
        });
        expected.assert_eq(&files.collect::<String>());
    }

    #[test]
    fn finds_the_file_of_each_client_on_linux() {
        check(
            Platform::Linux,
            &[("HOME", "/home/ada")],
            expect![[r#"
                /home/ada/.config/Claude/claude_desktop_config.json
                /home/ada/.claude.json
                /home/ada/.config/Code/User/mcp.json
                /home/ada/.cursor/mcp.json
                /home/ada/.config/zed/settings.json
                /home/ada/.codeium/windsurf/mcp_config.json
                /home/ada/.codex/config.toml
            "#]],
        );
    }

    #[test]
    fn follows_variables_that_move_folders() {
        check(
            Platform::Linux,
            &[
                ("HOME", "/home/ada"),
                ("XDG_CONFIG_HOME", "/cfg"),
                ("CLAUDE_CONFIG_DIR", "/claude"),
                ("CODEX_HOME", "/codex"),
            ],
            expect![[r#"
                /cfg/Claude/claude_desktop_config.json
                /claude/.claude.json
                /cfg/Code/User/mcp.json
                /home/ada/.cursor/mcp.json
                /cfg/zed/settings.json
                /home/ada/.codeium/windsurf/mcp_config.json
                /codex/config.toml
            "#]],
        );
    }

    #[test]
    fn finds_the_file_of_each_client_on_macos() {
        check(
            Platform::MacOs,
            &[("HOME", "/Users/ada"), ("XDG_CONFIG_HOME", "/cfg")],
            expect![[r#"
                /Users/ada/Library/Application Support/Claude/claude_desktop_config.json
                /Users/ada/.claude.json
                /Users/ada/Library/Application Support/Code/User/mcp.json
                /Users/ada/.cursor/mcp.json
                /Users/ada/.config/zed/settings.json
                /Users/ada/.codeium/windsurf/mcp_config.json
                /Users/ada/.codex/config.toml
            "#]],
        );
    }

    /// The separator is `/`, because the test runs on Unix.
    #[test]
    fn finds_the_file_of_each_client_on_windows() {
        check(
            Platform::Windows,
            &[
                ("USERPROFILE", r"C:\Users\ada"),
                ("APPDATA", r"C:\Users\ada\AppData\Roaming"),
            ],
            expect![[r#"
                C:\Users\ada\AppData\Roaming/Claude/claude_desktop_config.json
                C:\Users\ada/.claude.json
                C:\Users\ada\AppData\Roaming/Code/User/mcp.json
                C:\Users\ada/.cursor/mcp.json
                C:\Users\ada\AppData\Roaming/Zed/settings.json
                C:\Users\ada/.codeium/windsurf/mcp_config.json
                C:\Users\ada/.codex/config.toml
            "#]],
        );
    }

    #[test]
    fn reports_a_missing_home_folder_and_clients_without_project_files() {
        let file = |client, scope| file_of(client, scope, Platform::Linux, &|_| None);
        let error = file(Client::Cursor, Scope::User).unwrap_err().to_string();
        assert!(
            error.contains("HOME is not set") && error.contains("--file"),
            "{error}"
        );
        let project = Scope::Project(Path::new("/work"));
        assert_eq!(
            file(Client::VsCode, project).unwrap(),
            Path::new("/work/.vscode/mcp.json")
        );
        assert_eq!(
            file(Client::ClaudeCode, project).unwrap(),
            Path::new("/work/.mcp.json")
        );
        assert!(
            file(Client::Windsurf, project)
                .unwrap_err()
                .to_string()
                .contains("without --project")
        );
    }
}
