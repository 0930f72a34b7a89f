//! The files of a new project that its author edits: the template of the language in `templates`.

/// The language of a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectLanguage {
    /// Rust.
    Rust,
    /// Python, compiled with componentize-py.
    Python,
    /// JavaScript, in QuickJS.
    JavaScript,
    /// TypeScript, bundled by esbuild, in QuickJS.
    TypeScript,
    /// Go, with the official compiler.
    Go,
    /// C, with zig or clang.
    C,
    /// C++, with zig or clang.
    Cpp,
}

impl ProjectLanguage {
    /// All languages.
    pub(super) const ALL: [Self; 7] = [
        Self::Rust,
        Self::Python,
        Self::JavaScript,
        Self::TypeScript,
        Self::Go,
        Self::C,
        Self::Cpp,
    ];

    /// The name of the language on the command line.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::Python => "python",
            Self::JavaScript => "javascript",
            Self::TypeScript => "typescript",
            Self::Go => "go",
            Self::C => "c",
            Self::Cpp => "cpp",
        }
    }

    pub(super) fn parse(name: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|language| language.as_str() == name)
    }
}

/// Paths in a project, and the texts of the files.
pub(super) type TextFiles = &'static [(&'static str, &'static str)];

/// Includes files under new names.
macro_rules! texts {
    ($root:literal: $($to:literal <- $from:literal),* $(,)?) => {
        &[$(($to, include_str!(concat!("../", $root, $from)))),*]
    };
}

/// Returns the files of the template, which the author edits.
pub(super) fn template(language: ProjectLanguage) -> TextFiles {
    match language {
        ProjectLanguage::Rust => RUST,
        ProjectLanguage::Python => PYTHON,
        ProjectLanguage::JavaScript => JAVASCRIPT,
        ProjectLanguage::TypeScript => TYPESCRIPT,
        ProjectLanguage::Go => GO,
        ProjectLanguage::C => C,
        ProjectLanguage::Cpp => CPP,
    }
}

/// Returns the files of a project whose functions are tools. None if there is no such template for the language.
pub(super) fn function_template(language: ProjectLanguage) -> Option<TextFiles> {
    match language {
        ProjectLanguage::Rust => Some(RUST_FUNCTIONS),
        ProjectLanguage::Python => Some(PYTHON_FUNCTIONS),
        ProjectLanguage::JavaScript
        | ProjectLanguage::TypeScript
        | ProjectLanguage::Go
        | ProjectLanguage::C
        | ProjectLanguage::Cpp => None,
    }
}

const RUST_FUNCTIONS: TextFiles = texts! { "templates/":
    "Cargo.toml" <- "function/rust/Cargo.toml.in",
    "src/lib.rs" <- "function/rust/src/lib.rs",
    "tests/component.rs" <- "function/rust/tests/component.rs",
    "wit/world.wit" <- "function/world.wit",
    ".cargo/config.toml" <- "rust/cargo-config.toml",
    "README.md" <- "function/rust/README.md",
    ".gitignore" <- "rust/gitignore",
    "larder-dev.toml" <- "function/rust/larder-dev.toml",
};

const PYTHON_FUNCTIONS: TextFiles = texts! { "templates/":
    "app.py" <- "function/python/app.py",
    "functions.py" <- "function/python/functions.py",
    "test_functions.py" <- "function/python/test_functions.py",
    "wit/world.wit" <- "function/world.wit",
    "build/README" <- "function/python/build-readme",
    "README.md" <- "function/python/README.md",
    ".gitignore" <- "function/python/gitignore",
    "larder-dev.toml" <- "function/python/larder-dev.toml",
};

const RUST: TextFiles = texts! { "templates/rust/":
    "Cargo.toml" <- "Cargo.toml.in",
    "src/lib.rs" <- "src/lib.rs",
    "tests/provider.rs" <- "tests/provider.rs",
    ".cargo/config.toml" <- "cargo-config.toml",
    "session.md" <- "../session.md",
    "README.md" <- "README.md",
    ".gitignore" <- "gitignore",
    "larder-dev.toml" <- "larder-dev.toml",
};

const PYTHON: TextFiles = texts! { "templates/python/":
    "app.py" <- "app.py",
    "development.py" <- "development.py",
    "sitecustomize.py" <- "sitecustomize.py",
    "test_provider.py" <- "test_provider.py",
    "session.md" <- "../session.md",
    "README.md" <- "README.md",
    ".gitignore" <- "gitignore",
    "larder-dev.toml" <- "larder-dev.toml",
};

const JAVASCRIPT: TextFiles = texts! { "templates/javascript/":
    "provider.js" <- "provider.js",
    "package.json" <- "package.json",
    "test.js" <- "test.js",
    "session.md" <- "../session.md",
    "README.md" <- "README.md",
    ".gitignore" <- "gitignore",
    "larder-dev.toml" <- "larder-dev.toml",
};

const TYPESCRIPT: TextFiles = texts! { "templates/typescript/":
    "provider.ts" <- "provider.ts",
    "package.json" <- "package.json",
    "tsconfig.json" <- "tsconfig.json",
    "test.js" <- "test.js",
    "session.md" <- "../session.md",
    "README.md" <- "README.md",
    ".gitignore" <- "gitignore",
    "larder-dev.toml" <- "larder-dev.toml",
};

const GO: TextFiles = texts! { "templates/go/":
    "go.mod" <- "go.mod.in",
    "main.go" <- "main.go",
    "main_test.go" <- "main_test.go",
    "test/provider_test.go" <- "provider_test.go",
    "Makefile" <- "Makefile",
    "session.md" <- "../session.md",
    "README.md" <- "README.md",
    ".gitignore" <- "gitignore",
    "larder-dev.toml" <- "larder-dev.toml",
};

const C: TextFiles = texts! { "templates/c/":
    "app.c" <- "app.c",
    "Makefile" <- "Makefile",
    "test.sh" <- "test.sh",
    "session.md" <- "../session.md",
    "README.md" <- "README.md",
    ".gitignore" <- "gitignore",
    "larder-dev.toml" <- "larder-dev.toml",
};

const CPP: TextFiles = texts! { "templates/cpp/":
    "app.cpp" <- "app.cpp",
    "Makefile" <- "Makefile",
    "test.sh" <- "test.sh",
    "session.md" <- "../session.md",
    "README.md" <- "README.md",
    ".gitignore" <- "gitignore",
    "larder-dev.toml" <- "larder-dev.toml",
};
