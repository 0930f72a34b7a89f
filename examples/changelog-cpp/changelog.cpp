// Implementation of changelog.hpp.
#include "changelog.hpp"

#include <cstdint>

static std::string_view trimmed(std::string_view text) {
    const auto begin = text.find_first_not_of(" \t\r\n");
    if (begin == text.npos) return {};
    return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

// Returns the lines, without their ends.
static std::vector<std::string_view> lines(std::string_view text) {
    std::vector<std::string_view> found;
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        if (line.ends_with('\r')) line.remove_suffix(1);
        found.push_back(line);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return found;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool fits(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || std::string_view("-._~").contains(c);
}

// Parses `2026-05-12`, followed by a space or nothing.
static std::optional<std::string> date_in(std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(" -"), text.size()));
    if (text.size() < 10 || (text.size() > 10 && text[10] != ' ')) return std::nullopt;
    for (std::size_t at = 0; at < 10; at++)
        if (at == 4 || at == 7 ? text[at] != '-' : !is_digit(text[at])) return std::nullopt;
    return std::string(text.substr(0, 10));
}

// Matches `[1.0.0] - 2026-05-12` or `1.0.0`. The version must not need percent-encoding in a URI.
static std::optional<Release> titled(std::string_view title) {
    title = trimmed(title);
    const bool bracketed = title.starts_with('[');
    title.remove_prefix(bracketed);
    std::size_t end = 0;
    while (end < title.size() && fits(title[end])) end++;
    const bool ended = bracketed ? end < title.size() && title[end] == ']' : end == title.size() || title[end] == ' ';
    if (!ended || end == 0) return std::nullopt;
    return Release{std::string(title.substr(0, end)), date_in(title.substr(end + bracketed)), ""};
}

std::vector<Release> releases(std::string_view text) {
    std::vector<Release> all;
    bool inside = false;
    for (std::string_view line : lines(text)) {
        if (line.starts_with("## ")) {
            auto found = titled(line.substr(3));
            inside = found && !find(all, found->version);
            if (inside) all.push_back(std::move(*found));
        } else if (line.starts_with('[') && line.contains("]: ")) {
            // Link definitions are not part of a release.
            inside = false;
        }
        if (inside) all.back().text.append(line).append("\n");
    }
    for (Release &release : all) release.text = std::string(trimmed(release.text)) + "\n";
    return all;
}

const Release *find(const std::vector<Release> &all, std::string_view version) {
    for (const Release &release : all)
        if (release.version == version) return &release;
    return nullptr;
}

std::vector<Changes> changes_of(const Release &release) {
    std::vector<Changes> changes;
    for (std::string_view line : lines(release.text)) {
        if (line.starts_with("### ")) {
            changes.push_back({std::string(trimmed(line.substr(4))), {}});
        } else if (!changes.empty() && line.starts_with("- ")) {
            changes.back().items.emplace_back(trimmed(line.substr(2)));
        } else if (!changes.empty() && !changes.back().items.empty() && line.starts_with("  ")) {
            // An indented line continues the item above.
            changes.back().items.back().append(" ").append(trimmed(line));
        }
    }
    return changes;
}

static std::string lower(std::string_view text) {
    std::string copy(text);
    for (char &c : copy)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 'a' - 'A');
    return copy;
}

std::optional<std::string> excerpt(const Release &release, std::string_view wanted) {
    const std::string text = lower(wanted);
    for (std::string_view line : lines(release.text))
        if (lower(line).contains(text)) return std::string(trimmed(line));
    return std::nullopt;
}

std::string Release::digest() const {
    std::uint32_t hash = 0x811c9dc5;
    for (unsigned char byte : text) hash = (hash ^ byte) * 0x01000193;
    std::string digits;
    for (int shift = 28; shift >= 0; shift -= 4) digits += "0123456789abcdef"[hash >> shift & 15];
    return digits;
}
