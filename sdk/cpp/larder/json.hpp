// Reads and writes JSON: the arguments of tools and the answers of clients. Any other library for JSON works as well.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "larder_interactive.h"
#include "lift.hpp"

namespace larder {

// Returns a JSON string with its quotation marks.
inline std::string quote(std::string_view text) {
    larder_text quoted = {};
    larder_add_json(&quoted, text.data(), text.size());
    const detail::Allocated memory(quoted.ptr);
    return std::string(quoted.ptr, quoted.len);
}

// A JSON text, which is not copied. Paths consist of the names of members and the positions of items, such as
// "content.version" or "items.0.name". An empty path is the value itself.
class Json {
public:
    Json() = default;
    explicit Json(std::string_view text) : text_(text) {}

    std::string_view raw() const { return text_; }

    // The value at a path, if there is one.
    std::optional<Json> find(const char *path) const {
        const provider_string_t json = detail::borrowed(text_);
        provider_string_t found;
        if (text_.empty() || !larder_json_find(&json, path, &found)) return std::nullopt;
        return Json(detail::view(found));
    }

    // The string, number or boolean at a path; none if there is no value, or one of another type.
    std::optional<std::string> text(const char *path) const {
        const provider_string_t json = detail::borrowed(text_);
        larder_text found = {};
        const bool is_text = !text_.empty() && larder_json_text(&json, path, &found);
        const detail::Allocated memory(found.ptr);
        if (!is_text) return std::nullopt;
        return std::string(found.ptr, found.len);
    }

    std::optional<double> number(const char *path) const {
        const provider_string_t json = detail::borrowed(text_);
        double found;
        if (text_.empty() || !larder_json_number(&json, path, &found)) return std::nullopt;
        return found;
    }

    std::optional<bool> boolean(const char *path) const {
        const provider_string_t json = detail::borrowed(text_);
        bool found;
        if (text_.empty() || !larder_json_boolean(&json, path, &found)) return std::nullopt;
        return found;
    }

private:
    std::string_view text_;
};

}  // namespace larder
