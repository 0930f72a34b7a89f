//! The targets for which a release has programs.

use std::env::consts::{ARCH, OS};

use anyhow::Result;

use crate::tools;

/// A target of the compiler.
pub(crate) struct Target {
    pub(crate) triple: &'static str,
    /// The linker that another processor needs.
    pub(super) linker: Option<&'static str>,
    /// The platform whose packages contain the program.
    pub(crate) platform: Platform,
}

/// A platform in the words of npm, PyPI and MCPB.
pub(crate) struct Platform {
    /// `process.platform` of Node.
    pub(crate) system: &'static str,
    /// `process.arch` of Node.
    pub(crate) processor: &'static str,
    /// The tags of a wheel. A static program runs with each C library.
    pub(super) wheel_tags: &'static [&'static str],
    /// The architecture of Debian. A static program needs no other package.
    pub(crate) debian: Option<&'static str>,
}

pub(crate) const TARGETS: [Target; 4] = [
    Target {
        triple: "x86_64-unknown-linux-gnu",
        linker: None,
        platform: Platform {
            system: "linux",
            processor: "x64",
            wheel_tags: &["manylinux_2_17_x86_64", "musllinux_1_1_x86_64"],
            debian: Some("amd64"),
        },
    },
    Target {
        triple: "aarch64-unknown-linux-gnu",
        linker: Some("aarch64-linux-gnu-gcc"),
        platform: Platform {
            system: "linux",
            processor: "arm64",
            wheel_tags: &["manylinux_2_17_aarch64", "musllinux_1_1_aarch64"],
            debian: Some("arm64"),
        },
    },
    Target {
        triple: "aarch64-apple-darwin",
        linker: None,
        platform: Platform {
            system: "darwin",
            processor: "arm64",
            wheel_tags: &["macosx_11_0_arm64"],
            debian: None,
        },
    },
    Target {
        triple: "x86_64-apple-darwin",
        linker: None,
        platform: Platform {
            system: "darwin",
            processor: "x64",
            wheel_tags: &["macosx_10_12_x86_64"],
            debian: None,
        },
    },
];

impl Target {
    pub(super) fn is_linux(&self) -> bool {
        self.triple.contains("-linux-")
    }

    /// Whether the C library of this target can use only the first 32 KiB of the global offset table.
    pub(super) fn has_small_offset_table(&self) -> bool {
        self.triple == "aarch64-unknown-linux-gnu"
    }

    /// Whether the benchmark, which runs on Linux only, can run programs for this target on this machine.
    pub(super) fn can_be_measured(&self) -> bool {
        OS == "linux" && self.is_linux() && self.triple.starts_with(ARCH)
    }

    /// Why this target cannot be built here.
    pub(super) fn missing(&self) -> Result<Option<String>> {
        if self.is_linux() != (OS == "linux") {
            return Ok(Some(format!("it is not built on {OS}")));
        }
        let triple = self.triple;
        if !tools::has_standard_library(triple)? {
            return Ok(Some(format!(
                "its standard library is not installed (`rustup target add {triple}`)"
            )));
        }
        let linker = self
            .linker
            .filter(|linker| tools::find_program(linker).is_none());
        Ok(linker.map(|linker| format!("{linker} is not installed")))
    }
}
