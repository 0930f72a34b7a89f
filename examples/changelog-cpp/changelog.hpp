// Parses a changelog. This file does not depend on Larder.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct Release {
    std::string version;
    std::optional<std::string> date;
    // From its `## ` line to the next one, with a newline at the end.
    std::string text;

    // A hash of the text (32-bit FNV-1a, which is short to implement in every language).
    std::string digest() const;
};

// The list below a `### ` line.
struct Changes {
    std::string kind;
    std::vector<std::string> items;
};

// Returns the releases in the order of the text.
std::vector<Release> releases(std::string_view text);

std::vector<Changes> changes_of(const Release &release);

// Returns the release with this version, or nullptr.
const Release *find(const std::vector<Release> &all, std::string_view version);

// Returns the first line that contains the text, without regard to the case of ASCII letters.
std::optional<std::string> excerpt(const Release &release, std::string_view wanted);
