//! The clients, and how their configuration files differ. The facts are from the documentation of each client.

use clap::ValueEnum;

/// A client whose configuration file can be edited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Client {
    /// Claude Desktop.
    ClaudeDesktop,
    /// Claude Code.
    ClaudeCode,
    /// VS Code.
    #[value(name = "vscode")]
    VsCode,
    /// Cursor.
    Cursor,
    /// Zed.
    Zed,
    /// Windsurf.
    Windsurf,
    /// Codex: the command line program, the editor extension and the application.
    Codex,
}

/// The language of a configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Syntax {
    /// JSON without comments, because the client reads no other format.
    Json,
    /// JSON with comments and trailing commas.
    JsonWithComments,
    /// TOML.
    Toml,
}

impl Client {
    /// The name of the product.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ClaudeDesktop => "Claude Desktop",
            Self::ClaudeCode => "Claude Code",
            Self::VsCode => "VS Code",
            Self::Cursor => "Cursor",
            Self::Zed => "Zed",
            Self::Windsurf => "Windsurf",
            Self::Codex => "Codex",
        }
    }

    /// What the user has to do so that the client reads its file again.
    pub(crate) fn next_step(self) -> &'static str {
        match self {
            Self::ClaudeDesktop => "quit Claude Desktop (not only its window) and start it again",
            Self::ClaudeCode => {
                "start a new session of Claude Code, where /mcp shows the server; sessions that run now may \
                 write the file too"
            }
            Self::VsCode => "in VS Code, start the server with the command `MCP: List Servers`",
            Self::Cursor => "restart Cursor, and enable the server in its settings, under MCP",
            Self::Zed => "Zed reads the file at once; the settings of its agent show the server",
            Self::Windsurf => "press the refresh button above the list of MCP servers in Windsurf",
            Self::Codex => "start a new session of Codex, where /mcp shows the server",
        }
    }

    /// Whether the client does not support resources, so that a model reaches them only through tools.
    pub(crate) fn lacks_resources(self) -> bool {
        self == Self::Zed
    }

    /// Whether the client can only start programs.
    pub(crate) fn lacks_urls(self) -> bool {
        self == Self::ClaudeDesktop
    }

    /// Whether the client sends headers with exactly the configured text, so that they cannot name a variable.
    pub(crate) fn lacks_variables(self) -> bool {
        self == Self::Zed
    }

    pub(super) fn syntax(self) -> Syntax {
        match self {
            Self::ClaudeDesktop | Self::ClaudeCode => Syntax::Json,
            Self::VsCode | Self::Cursor | Self::Zed | Self::Windsurf => Syntax::JsonWithComments,
            Self::Codex => Syntax::Toml,
        }
    }

    /// The key of the section with the servers.
    pub(super) fn section(self) -> &'static str {
        match self {
            Self::ClaudeDesktop | Self::ClaudeCode | Self::Cursor | Self::Windsurf => "mcpServers",
            Self::VsCode => "servers",
            Self::Zed => "context_servers",
            Self::Codex => "mcp_servers",
        }
    }
}
