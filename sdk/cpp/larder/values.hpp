// What a provider returns and receives for resources. All members that have a default may be omitted:
// `larder::Entry{.uri = "note:1", .name = "one"}`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace larder {

using Bytes = std::vector<std::uint8_t>;

// Keys with JSON text.
using Metadata = std::vector<std::pair<std::string, std::string>>;

// Names and values that the host passes on.
using Pairs = std::vector<std::pair<std::string_view, std::string_view>>;

enum class Role : std::uint8_t { user, assistant };
enum class Theme : std::uint8_t { light, dark };
// Who may receive a cached response.
enum class Scope : std::uint8_t { everyone, caller };

struct Icon {
    std::string src;
    std::optional<std::string> mime_type{};
    // Sizes such as "48x48" or "any".
    std::vector<std::string> sizes{};
    // The background that the icon is made for, unless it suits both.
    std::optional<Theme> theme{};
};

// Less common properties of entries and templates.
struct Details {
    // A category, such as "file" or "database-table".
    std::optional<std::string> kind{};
    std::vector<Role> audience{};
    // From 0 (optional) to 1 (required).
    std::optional<double> priority{};
    // RFC 3339.
    std::optional<std::string> last_modified{};
    std::vector<Icon> icons{};
    Metadata metadata{};
};

// A resource in a list.
struct Entry {
    // An absolute URI, which the host never rewrites.
    std::string uri;
    std::string name;
    std::optional<std::string> title{};
    std::optional<std::string> description{};
    std::optional<std::string> mime_type{};
    std::optional<std::uint64_t> size{};
    // Any text that changes whenever the content changes.
    std::optional<std::string> version{};
    std::optional<Details> details{};
};

// A set of resources, described by an RFC 6570 template.
struct Template {
    std::string uri_template;
    std::string name;
    std::optional<std::string> title{};
    std::optional<std::string> description{};
    std::optional<std::string> mime_type{};
    std::optional<Details> details{};
};

// How long a response may be cached, and for whom.
struct Freshness {
    std::uint64_t ttl_ms;
    Scope scope = Scope::everyone;
};

// One page of a list.
template <class T>
struct Page {
    std::vector<T> items{};
    std::optional<std::string> next_cursor{};
    std::optional<Freshness> freshness{};
};

struct Content {
    // Text, which must be UTF-8, or bytes.
    std::variant<std::string, Bytes> body;
    std::optional<std::string> mime_type{};
    // Only if it differs from the requested URI.
    std::optional<std::string> uri{};
    Metadata metadata{};
};

// The result of a read: `return larder::Reading{{{.body = "text", .mime_type = "text/plain"}}};`
struct Reading {
    std::vector<Content> contents;
    std::optional<std::string> version{};
    std::optional<Freshness> freshness{};
};

// The description of a provider, for people and for the model.
struct Description {
    std::optional<std::string> title{};
    std::optional<std::string> version{};
    std::optional<std::string> summary{};
    std::optional<std::string> instructions{};
    // URI prefixes that belong to this provider, in addition to the URIs that it lists.
    std::vector<std::string> claims{};
};

// A request for a page of a list. The prefix and the kind are hints: the host filters the entries again.
struct Query {
    std::optional<std::string_view> cursor{};
    std::uint32_t limit = 0;
    std::optional<std::string_view> uri_prefix{};
    std::optional<std::string_view> kind{};
};

// The template that matches a URI, with the values of its variables in the order of the template. A list is several
// variables with the same name, and a map is several variables with the same name and different keys.
struct Match {
    struct Variable {
        std::string name;
        std::optional<std::string> key{};
        std::string value;
    };
    std::string uri_template;
    std::vector<Variable> variables{};
};

// A request to read a resource.
struct Request {
    std::string_view uri{};
    // The template that matches the URI, if any.
    std::optional<Match> matched{};
    // The version that the caller knows. Return `larder::not_modified()` if it is still current.
    std::optional<std::string_view> known_version{};

    bool knows(std::string_view version) const { return known_version == version; }

    // Whether the URI matches this template.
    bool matches(std::string_view uri_template) const { return matched && matched->uri_template == uri_template; }

    // The decoded value of a variable. The items of a list are joined with commas, as in the URI.
    std::optional<std::string> var(std::string_view name) const {
        std::optional<std::string> found;
        for (std::string_view value : vars(name)) {
            if (found) found->append(",").append(value);
            else found = std::string(value);
        }
        return found;
    }

    // All values of a variable: those of a list or a map. They are part of this request.
    std::vector<std::string_view> vars(std::string_view name) const {
        std::vector<std::string_view> found;
        if (!matched) return found;
        for (const auto &variable : matched->variables)
            if (variable.name == name) found.push_back(variable.value);
        return found;
    }

    // The values of a map by key.
    std::map<std::string_view, std::string_view> map(std::string_view name) const {
        std::map<std::string_view, std::string_view> found;
        if (!matched) return found;
        for (const auto &variable : matched->variables)
            if (variable.name == name && variable.key) found[*variable.key] = variable.value;
        return found;
    }
};

// A request for suggestions for a variable of a template.
struct CompletionRequest {
    std::string_view uri_template{};
    std::string_view variable{};
    // The text that has been typed so far.
    std::string_view prefix{};
    // Variables that are already filled in.
    Pairs filled{};
};

struct Completion {
    std::vector<std::string> values{};
    std::optional<std::uint64_t> total{};
    bool more = false;
};

// A search in the content of the provider. The prefix and the kind are hints.
struct SearchQuery {
    std::string_view text{};
    // The maximum number of hits.
    std::uint32_t limit = 0;
    std::optional<std::string_view> uri_prefix{};
    std::optional<std::string_view> kind{};
};

struct Hit {
    Entry entry;
    // A passage that shows why the entry matches.
    std::optional<std::string> excerpt{};
};

// Best first.
struct Hits {
    std::vector<Hit> hits{};
    std::optional<Freshness> freshness{};
};

}  // namespace larder
