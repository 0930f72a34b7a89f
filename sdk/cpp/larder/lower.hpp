// Copies values into those of the bindings, which free them after the call. An empty text or list has no memory,
// because the bindings would not free it.
#pragma once

#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "error.hpp"
#include "larder.h"
#include "values.hpp"

namespace larder {

namespace detail {

// Zeroed memory for a list, or nullptr for an empty one.
template <class C>
C *allocate(std::size_t count) {
    return count ? static_cast<C *>(larder_new(count, sizeof(C))) : nullptr;
}

}  // namespace detail

// The overloads for types of the standard library must precede the templates. The others are found because their types
// are in this namespace.

inline void lower(std::string_view from, provider_string_t &to) {
    to = {detail::allocate<std::uint8_t>(from.size()), from.size()};
    if (!from.empty()) std::memcpy(to.ptr, from.data(), from.size());
}
inline void lower(const std::string &from, provider_string_t &to) { lower(std::string_view(from), to); }

inline void lower(const Bytes &from, provider_list_u8_t &to) {
    to = {detail::allocate<std::uint8_t>(from.size()), from.size()};
    if (!from.empty()) std::memcpy(to.ptr, from.data(), from.size());
}

inline void lower(const std::pair<std::string, std::string> &from, provider_tuple2_string_string_t &to) {
    lower(from.first, to.f0);
    lower(from.second, to.f1);
}

template <class T>
    requires std::is_arithmetic_v<T>
void lower(T from, T &to) {
    to = from;
}

template <class T>
    requires std::is_enum_v<T>
void lower(T from, std::uint8_t &to) {
    to = static_cast<std::uint8_t>(from);
}

template <class T, class Option>
    requires requires(Option &to) { to.is_some, to.val; }
void lower(const std::optional<T> &from, Option &to) {
    to.is_some = from.has_value();
    if (from) lower(*from, to.val);
}

template <class T, class List>
    requires requires(List &to) { *to.ptr, to.len; }
void lower(const std::vector<T> &from, List &to) {
    to.ptr = detail::allocate<std::remove_reference_t<decltype(*to.ptr)>>(from.size());
    to.len = from.size();
    for (std::size_t at = 0; at < from.size(); at++) lower(from[at], to.ptr[at]);
}

inline void lower(const std::variant<std::string, Bytes> &from, larder_provider_provider_types_body_t &to) {
    if (const auto *bytes = std::get_if<Bytes>(&from)) {
        to.tag = LARDER_PROVIDER_PROVIDER_TYPES_BODY_BLOB;
        lower(*bytes, to.val.blob);
    } else {
        to.tag = LARDER_PROVIDER_PROVIDER_TYPES_BODY_TEXT;
        lower(*std::get_if<std::string>(&from), to.val.text);
    }
}

inline void lower(const Icon &from, larder_icon &to) {
    lower(from.src, to.src);
    lower(from.mime_type, to.mime_type);
    lower(from.sizes, to.sizes);
    lower(from.theme, to.theme);
}

inline void lower(const Details &from, larder_details &to) {
    lower(from.kind, to.kind);
    lower(from.audience, to.audience);
    lower(from.priority, to.priority);
    lower(from.last_modified, to.last_modified);
    lower(from.icons, to.icons);
    lower(from.metadata, to.metadata);
}

inline void lower(const Freshness &from, larder_freshness &to) {
    lower(from.ttl_ms, to.ttl_ms);
    lower(from.scope, to.scope);
}

inline void lower(const Entry &from, larder_entry &to) {
    lower(from.uri, to.uri);
    lower(from.name, to.name);
    lower(from.title, to.title);
    lower(from.description, to.description);
    lower(from.mime_type, to.mime_type);
    lower(from.size, to.size);
    lower(from.version, to.version);
    lower(from.details, to.details);
}

inline void lower(const Template &from, larder_template &to) {
    lower(from.uri_template, to.uri_template);
    lower(from.name, to.name);
    lower(from.title, to.title);
    lower(from.description, to.description);
    lower(from.mime_type, to.mime_type);
    lower(from.details, to.details);
}

inline void lower(const Content &from, larder_content &to) {
    lower(from.body, to.body);
    lower(from.mime_type, to.mime_type);
    lower(from.uri, to.uri);
    lower(from.metadata, to.metadata);
}

inline void lower(const Description &from, larder_description &to) {
    lower(from.title, to.title);
    lower(from.version, to.version);
    lower(from.summary, to.summary);
    lower(from.instructions, to.instructions);
    lower(from.claims, to.claims);
}

inline void lower(const Page<Entry> &from, larder_entry_page &to) {
    lower(from.items, to.entries);
    lower(from.next_cursor, to.next_cursor);
    lower(from.freshness, to.freshness);
}

inline void lower(const Page<Template> &from, larder_template_page &to) {
    lower(from.items, to.templates);
    lower(from.next_cursor, to.next_cursor);
    lower(from.freshness, to.freshness);
}

inline void lower(const Match::Variable &from, larder_variable_value &to) {
    lower(from.name, to.name);
    lower(from.key, to.key);
    lower(from.value, to.value);
}

inline void lower(const Match &from, larder_match &to) {
    lower(from.uri_template, to.uri_template);
    lower(from.variables, to.variables);
}

inline void lower(const Reading &from, larder_reading &to) {
    lower(from.contents, to.contents);
    lower(from.version, to.version);
    lower(from.freshness, to.freshness);
}

#ifdef LARDER_WITH_COMPLETIONS
inline void lower(const Completion &from, larder_completion &to) {
    lower(from.values, to.values);
    lower(from.total, to.total);
    to.more = from.more;
}
#endif

#ifdef LARDER_WITH_SEARCH
inline void lower(const Hit &from, larder_hit &to) {
    lower(from.entry, to.entry);
    lower(from.excerpt, to.excerpt);
}

inline void lower(const Hits &from, larder_hits &to) {
    lower(from.hits, to.hits);
    lower(from.freshness, to.freshness);
}
#endif

// Sets an error, and returns false. Invalid UTF-8 in the text is replaced.
inline bool lower(const Error &from, larder_error *to) {
    to->tag = static_cast<std::uint8_t>(from.kind);
    // These two have no text.
    if (from.kind == ErrorKind::not_found || from.kind == ErrorKind::not_modified) return false;
    const char *text = from.text.empty() ? "the provider gave no reason" : from.text.c_str();
    return larder_fail(to, to->tag, "%s", text);
}

}  // namespace larder
