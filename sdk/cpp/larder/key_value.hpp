// Values that outlive a call, in buckets that the operator grants: `larder::key_value::shared.set("cursor", "7")`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "error.hpp"
#include "larder.h"
#include "lift.hpp"

namespace larder::key_value {

namespace detail {

using Failure = larder_provider_key_value_failure_t;

inline Unexpected error_of(Failure &failure) {
    const larder::detail::Owned owned(&failure, larder_provider_key_value_failure_free);
    switch (failure.tag) {
    case LARDER_PROVIDER_KEY_VALUE_FAILURE_NOT_GRANTED:
        return denied(larder::detail::copy(failure.val.not_granted));
    case LARDER_PROVIDER_KEY_VALUE_FAILURE_NO_CALLER:
        return denied("values of a caller need a caller with a subject");
    case LARDER_PROVIDER_KEY_VALUE_FAILURE_TOO_LARGE:
        return failed("the key or the value is too long to be stored");
    case LARDER_PROVIDER_KEY_VALUE_FAILURE_TOO_MANY_KEYS:
        return failed("too many keys are stored");
    case LARDER_PROVIDER_KEY_VALUE_FAILURE_FULL:
        return failed("the key-value store is full");
    default:
        return unavailable(larder::detail::copy(failure.val.unavailable));
    }
}

// For an argument of the host's functions, which do not change or keep it.
inline provider_list_u8_t bytes(std::string_view value) {
    return {reinterpret_cast<std::uint8_t *>(const_cast<char *>(value.data())), value.size()};
}

}  // namespace detail

// A bucket of values. Keys are UTF-8; values are any bytes.
class Bucket {
public:
    constexpr explicit Bucket(larder_provider_key_value_bucket_t bucket) : bucket_(bucket) {}

    // Returns a value; none if there is no such key.
    Result<std::optional<std::string>> get(std::string_view key) const {
        if (auto bad = check(key)) return Unexpected(*bad);
        provider_string_t name = larder::detail::borrowed(key);
        provider_option_list_u8_t value;
        detail::Failure failure;
        if (!larder_provider_key_value_get(bucket_, &name, &value, &failure)) return detail::error_of(failure);
        const larder::detail::Owned owned(&value, provider_option_list_u8_free);
        if (!value.is_some) return std::optional<std::string>();
        return std::optional(std::string(larder::detail::view(provider_string_t{value.val.ptr, value.val.len})));
    }

    // Stores a value. It is on the disk when this returns.
    Result<void> set(std::string_view key, std::string_view value) const {
        if (auto bad = check(key)) return Unexpected(*bad);
        provider_string_t name = larder::detail::borrowed(key);
        provider_list_u8_t stored = detail::bytes(value);
        detail::Failure failure;
        if (!larder_provider_key_value_set(bucket_, &name, &stored, &failure)) return detail::error_of(failure);
        return {};
    }

    // Removes a key, if it exists.
    Result<void> remove(std::string_view key) const {
        if (auto bad = check(key)) return Unexpected(*bad);
        provider_string_t name = larder::detail::borrowed(key);
        detail::Failure failure;
        if (!larder_provider_key_value_delete(bucket_, &name, &failure)) return detail::error_of(failure);
        return {};
    }

    // Stores a value, or removes the key if there is none, if the key has the expected value, where none means that it
    // does not exist. Returns whether it did so.
    Result<bool> compare_and_swap(std::string_view key, std::optional<std::string_view> expected,
                                  std::optional<std::string_view> value) const {
        if (auto bad = check(key)) return Unexpected(*bad);
        provider_string_t name = larder::detail::borrowed(key);
        provider_list_u8_t current = detail::bytes(expected.value_or(std::string_view()));
        provider_list_u8_t next = detail::bytes(value.value_or(std::string_view()));
        bool swapped = false;
        detail::Failure failure;
        if (!larder_provider_key_value_compare_and_swap(bucket_, &name, expected ? &current : nullptr,
                                                        value ? &next : nullptr, &swapped, &failure)) {
            return detail::error_of(failure);
        }
        return swapped;
    }

    // Returns all keys that begin with a prefix, in order.
    Result<std::vector<std::string>> keys(std::string_view prefix = {}) const {
        if (auto bad = check(prefix)) return Unexpected(*bad);
        std::vector<std::string> keys;
        std::optional<std::string> cursor;
        do {
            provider_string_t start = larder::detail::borrowed(prefix);
            provider_string_t after = larder::detail::borrowed(cursor ? std::string_view(*cursor) : std::string_view());
            larder_provider_key_value_key_page_t page;
            detail::Failure failure;
            if (!larder_provider_key_value_list_keys(bucket_, &start, cursor ? &after : nullptr, 1000, &page, &failure)) {
                return detail::error_of(failure);
            }
            const larder::detail::Owned owned(&page, larder_provider_key_value_key_page_free);
            for (std::size_t at = 0; at < page.keys.len; at++) keys.push_back(larder::detail::copy(page.keys.ptr[at]));
            cursor = larder::detail::copy(page.next_cursor);
        } while (cursor);
        return keys;
    }

private:
    // A key that is not UTF-8 would be a trap.
    static std::optional<Error> check(std::string_view key) {
        if (larder_is_utf8(key.data(), key.size())) return std::nullopt;
        return Error{ErrorKind::failed, "the key is not UTF-8"};
    }

    larder_provider_key_value_bucket_t bucket_;
};

// All callers of the provider read and write the same values. It needs the grant `key_value = ["shared"]`.
inline constexpr Bucket shared{LARDER_PROVIDER_KEY_VALUE_BUCKET_SHARED};
// Only calls of the same caller read and write these values. It needs the grant `key_value = ["caller"]`, and a caller
// with a subject.
inline constexpr Bucket caller{LARDER_PROVIDER_KEY_VALUE_BUCKET_CALLER};

}  // namespace larder::key_value
