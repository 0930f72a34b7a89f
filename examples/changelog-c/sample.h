// Used if no folder is granted.
#define SAMPLE \
    "# Changelog\n" \
    "\n" \
    "## [Unreleased]\n" \
    "\n" \
    "### Added\n" \
    "\n" \
    "- A provider in each language.\n" \
    "\n" \
    "## [0.2.0] - 2026-06-30\n" \
    "\n" \
    "### Added\n" \
    "\n" \
    "- Completion of versions.\n" \
    "- Each release as JSON,\n" \
    "  for programs.\n" \
    "\n" \
    "### Fixed\n" \
    "\n" \
    "- A release without a date is no longer left out.\n" \
    "\n" \
    "## [0.1.0] - 2026-05-12\n" \
    "\n" \
    "### Added\n" \
    "\n" \
    "- The releases of a changelog, as resources.\n" \
    "\n" \
    "[0.2.0]: https://example.org/changelog/compare/0.1.0...0.2.0\n"
