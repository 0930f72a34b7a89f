// Reads the values of the bindings. Views are valid as long as the value that they are made of.
#pragma once

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "larder.h"
#include "values.hpp"

namespace larder::detail {

// Frees the content of a value of the bindings at the end of a scope. Functions own their arguments.
template <class T>
class Owned {
public:
    Owned(T *value, void (*release)(T *)) : value_(value), release_(release) {}
    ~Owned() {
        if (value_) release_(value_);
    }
    Owned(const Owned &) = delete;
    Owned &operator=(const Owned &) = delete;

private:
    T *value_;
    void (*release_)(T *);
};

// Memory of malloc.
struct Free {
    void operator()(void *memory) const { std::free(memory); }
};
using Allocated = std::unique_ptr<char, Free>;

inline std::string_view view(const provider_string_t &text) {
    return text.len ? std::string_view(reinterpret_cast<const char *>(text.ptr), text.len) : std::string_view();
}

inline std::optional<std::string_view> view(const provider_option_string_t &text) {
    if (!text.is_some) return std::nullopt;
    return view(text.val);
}

inline std::string copy(const provider_string_t &text) { return std::string(view(text)); }

inline std::optional<std::string> copy(const provider_option_string_t &text) {
    if (!text.is_some) return std::nullopt;
    return copy(text.val);
}

inline Pairs view(const provider_list_tuple2_string_string_t &list) {
    Pairs pairs;
    pairs.reserve(list.len);
    for (std::size_t at = 0; at < list.len; at++) pairs.emplace_back(view(list.ptr[at].f0), view(list.ptr[at].f1));
    return pairs;
}

inline Metadata copy(const provider_list_tuple2_string_string_t &list) {
    Metadata pairs;
    pairs.reserve(list.len);
    for (std::size_t at = 0; at < list.len; at++) pairs.emplace_back(copy(list.ptr[at].f0), copy(list.ptr[at].f1));
    return pairs;
}

// For an argument of a C function, which does not change or keep it.
inline provider_string_t borrowed(std::string_view text) {
    return {reinterpret_cast<std::uint8_t *>(const_cast<char *>(text.data())), text.size()};
}

inline Match copy(const larder_match &match) {
    Match copied{.uri_template = copy(match.uri_template)};
    copied.variables.reserve(match.variables.len);
    for (std::size_t at = 0; at < match.variables.len; at++) {
        const larder_variable_value &variable = match.variables.ptr[at];
        copied.variables.push_back({copy(variable.name), copy(variable.key), copy(variable.value)});
    }
    return copied;
}

inline Query lift(const larder_query &query) {
    return {view(query.cursor), query.limit, view(query.uri_prefix), view(query.kind)};
}

inline Request lift(const larder_request &request) {
    Request lifted{.uri = view(request.uri), .known_version = view(request.known_version)};
    if (request.matched.is_some) lifted.matched = copy(request.matched.val);
    return lifted;
}

}  // namespace larder::detail
