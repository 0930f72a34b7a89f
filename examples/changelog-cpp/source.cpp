// Implementation of source.hpp.
#include "source.hpp"

// The guest path of the granted folder: `dirs = [{ host = "docs", guest = "/changelog" }]`.
static const std::string FOLDER = "/changelog";

// Used if no folder is granted.
static constexpr auto SAMPLE = R"(# Changelog

## [Unreleased]

### Added

- A provider in each language.

## [0.2.0] - 2026-06-30

### Added

- Completion of versions.
- Each release as JSON,
  for programs.

### Fixed

- A release without a date is no longer left out.

## [0.1.0] - 2026-05-12

### Added

- The releases of a changelog, as resources.

[0.2.0]: https://example.org/changelog/compare/0.1.0...0.2.0
)";

larder::Result<std::vector<Release>> load() {
    if (!larder::granted(FOLDER.c_str())) {
        larder::info(FOLDER + " is not granted: showing the sample");
        return releases(SAMPLE);
    }
    const auto file = FILE_NAME.get();
    if (!file) return std::unexpected(file.error());
    const std::string path = FOLDER + "/" + *file;
    const auto text = larder::read_file(path);
    if (!text) return larder::failed(text.error().text);
    if (!larder::is_utf8(*text)) return larder::failed(path + " is not UTF-8");
    return releases(*text);
}

larder::Result<larder::Completion> complete_version(std::string_view prefix) {
    const auto all = load();
    if (!all) return std::unexpected(all.error());
    std::vector<std::string> versions;
    for (const Release &release : *all) versions.push_back(release.version);
    return larder::matching(versions, prefix);
}
