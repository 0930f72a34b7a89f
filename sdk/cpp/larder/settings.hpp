// Typed settings. Declare each setting once as a constant, return all from `Provider::settings`, and read their values.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "error.hpp"
#include "larder_settings.h"
#include "lift.hpp"
#include "lower.hpp"

namespace larder {

// A number of bytes. In the configuration: `64MiB`, `1 GB` or a plain number.
struct Size {
    std::uint64_t bytes;
};

// The declaration of a setting, for the host.
struct Declaration : larder_declared {};

namespace detail {

// For each type: its kind, and the function of the C SDK that reads it.
template <class T>
struct SettingType;

template <>
struct SettingType<std::string> {
    static constexpr int kind = LARDER_TEXT_SETTING;
    static bool read(const larder_declared &declared, std::string &value, larder_error *error) {
        char *text = nullptr;
        const bool done = larder_text_setting(&declared, &text, error);
        const Allocated memory(text);
        if (text) value = text;
        return done;
    }
};

template <>
struct SettingType<double> {
    static constexpr int kind = LARDER_NUMBER_SETTING;
    static bool read(const larder_declared &declared, double &value, larder_error *error) {
        return larder_number_setting(&declared, &value, error);
    }
};

template <>
struct SettingType<bool> {
    static constexpr int kind = LARDER_BOOLEAN_SETTING;
    static bool read(const larder_declared &declared, bool &value, larder_error *error) {
        return larder_boolean_setting(&declared, &value, error);
    }
};

template <>
struct SettingType<Size> {
    static constexpr int kind = LARDER_SIZE_SETTING;
    static bool read(const larder_declared &declared, Size &value, larder_error *error) {
        return larder_size_setting(&declared, &value.bytes, error);
    }
};

template <>
struct SettingType<std::chrono::milliseconds> {
    static constexpr int kind = LARDER_DURATION_SETTING;
    static bool read(const larder_declared &declared, std::chrono::milliseconds &value, larder_error *error) {
        std::uint64_t count = 0;
        const bool done = larder_duration_setting(&declared, &count, error);
        value = std::chrono::milliseconds(count);
        return done;
    }
};

}  // namespace detail

// A setting whose values have the type `std::string`, `double`, `bool`, `larder::Size` or `std::chrono::milliseconds`:
// `constexpr larder::Setting<double> DEPTH{.name = "depth", .description = "How deep to look.", .default_value = "8"};`
template <class T>
struct Setting {
    const char *name;
    const char *description;
    // As it would be written in the configuration.
    const char *default_value = nullptr;
    bool required = false;
    // The value should come from a secret.
    bool secret = false;

    // The value or the default value. It is an error if there is neither.
    Result<T> get() const {
        Result<std::optional<T>> found = find();
        if (!found) return Unexpected(found.error());
        if (!*found) return failed(std::string("setting `") + name + "` is missing");
        return **found;
    }

    // The value or the default value, if there is one.
    Result<std::optional<T>> find() const {
        const Declaration declared = *this;
        const bool is_set = detail::Allocated(larder_setting(name, default_value)) != nullptr;
        if (!is_set && !required) return std::optional<T>();
        T value{};
        larder_error error = {};
        if (detail::SettingType<T>::read(declared, value, &error)) return std::optional<T>(value);
        const detail::Allocated memory(reinterpret_cast<char *>(error.val.failed.ptr));
        return failed(detail::copy(error.val.failed));
    }

    operator Declaration() const {
        return {{name, detail::SettingType<T>::kind, description, default_value, required, secret}};
    }
};

#ifdef LARDER_WITH_SETTINGS
inline void lower(const Declaration &from, exports_larder_provider_settings_provider_declaration_t &to) {
    lower(std::string_view(from.name), to.name);
    to.kind = static_cast<std::uint8_t>(from.kind);
    lower(std::string_view(from.description ? from.description : ""), to.description);
    to.default_.is_some = from.default_value != nullptr;
    if (from.default_value) lower(std::string_view(from.default_value), to.default_.val);
    to.required = from.required;
    to.secret = from.secret;
}
#endif

}  // namespace larder
