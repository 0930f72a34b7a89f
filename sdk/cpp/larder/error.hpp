// Errors of the contract. Any other problem of a provider is `larder::failed`.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <utility>

#include "larder.h"

namespace larder {

enum class ErrorKind : std::uint8_t {
    // There is no such resource in this provider. The host then asks other providers.
    not_found = LARDER_NOT_FOUND,
    // The version that the caller knows is still current.
    not_modified = LARDER_NOT_MODIFIED,
    // The request is invalid, for example because of a bad cursor.
    invalid = LARDER_INVALID,
    // The caller is not authorized, or the provider lacks a grant.
    denied = LARDER_DENIED,
    // A temporary failure; the request may be repeated later.
    unavailable = LARDER_UNAVAILABLE,
    // Any other failure.
    failed = LARDER_FAILED,
};

struct Error {
    ErrorKind kind;
    // Shown to the caller, so it should say how to solve the problem. Not used by the first two kinds.
    std::string text{};
};

// A value or an error: `if (!result) return std::unexpected(result.error());`
template <class T>
using Result = std::expected<T, Error>;

using Unexpected = std::unexpected<Error>;

// For `return larder::not_found();` in a function that returns a result.
inline Unexpected not_found() { return Unexpected(Error{ErrorKind::not_found}); }
inline Unexpected not_modified() { return Unexpected(Error{ErrorKind::not_modified}); }
inline Unexpected invalid(std::string text) { return Unexpected(Error{ErrorKind::invalid, std::move(text)}); }
inline Unexpected denied(std::string text) { return Unexpected(Error{ErrorKind::denied, std::move(text)}); }
inline Unexpected unavailable(std::string text) { return Unexpected(Error{ErrorKind::unavailable, std::move(text)}); }
inline Unexpected failed(std::string text) { return Unexpected(Error{ErrorKind::failed, std::move(text)}); }

}  // namespace larder
