// What the parts of the provider share: the file with the releases.
#pragma once

#include "changelog.hpp"
#include "larder.hpp"

inline const std::string RELEASES = "changelog://releases/";

// The setting that names the file. The host checks the configuration with this declaration.
constexpr larder::Setting<std::string> FILE_NAME{
    .name = "file",
    .description = "Name of the file in the folder that is granted as `/changelog`.",
    .default_value = "CHANGELOG.md",
};

// Loads the releases in the granted folder, or the sample if no folder is granted. Other problems are errors.
larder::Result<std::vector<Release>> load();

// Suggests versions that begin with a prefix.
larder::Result<larder::Completion> complete_version(std::string_view prefix);

// The tools and the prompts, which are in files of their own.
std::vector<larder::Tool> changelog_tools();
std::vector<larder::Prompt> changelog_prompts();
