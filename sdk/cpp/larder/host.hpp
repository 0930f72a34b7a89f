// Functions of the host, and granted files.
#pragma once

#include <sys/stat.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "error.hpp"
#include "larder.h"
#include "lift.hpp"
#include "values.hpp"

namespace larder {

enum class Level { debug = LARDER_DEBUG, info = LARDER_INFO, warn = LARDER_WARN, error = LARDER_ERROR };

// Writes a message to the log of the host.
inline void log(Level level, std::string_view message) {
    larder_log(static_cast<int>(level), "%.*s", static_cast<int>(message.size()), message.data());
}
inline void debug(std::string_view message) { log(Level::debug, message); }
inline void info(std::string_view message) { log(Level::info, message); }
inline void warn(std::string_view message) { log(Level::warn, message); }
inline void error(std::string_view message) { log(Level::error, message); }

// A setting from the provider's section of the configuration. Declared settings are in settings.hpp.
inline std::optional<std::string> setting(const char *name) {
    const detail::Allocated text(larder_setting(name, nullptr));
    if (!text) return std::nullopt;
    return std::string(text.get());
}
inline std::string setting(const char *name, std::string_view default_value) {
    return setting(name).value_or(std::string(default_value));
}

struct Caller {
    std::optional<std::string> subject{};
    // Who issued the credential. A subject is unique only together with its issuer.
    std::optional<std::string> issuer{};
    std::string team{};
    std::vector<std::string> scopes{};
};

// The caller of the current request; none if the host itself makes the call.
inline std::optional<Caller> caller() {
    larder_provider_provider_host_caller_t found;
    if (!larder_provider_provider_host_get_caller(&found)) return std::nullopt;
    const detail::Owned owned(&found, larder_provider_provider_host_caller_free);
    Caller copied{detail::copy(found.subject), detail::copy(found.issuer), detail::copy(found.team)};
    for (std::size_t at = 0; at < found.scopes.len; at++) copied.scopes.push_back(detail::copy(found.scopes.ptr[at]));
    return copied;
}

// The metadata of the request.
inline Metadata metadata() {
    provider_list_tuple2_string_string_t found;
    larder_provider_provider_host_request_metadata(&found);
    const detail::Owned owned(&found, provider_list_tuple2_string_string_free);
    return detail::copy(found);
}

// Notifies subscribers of this URI that its content has changed.
inline void resource_updated(std::string_view uri) {
    provider_string_t text = detail::borrowed(uri);
    larder_provider_provider_host_resource_updated(&text);
}

// Notifies all clients that the list of entries or templates has changed.
inline void resources_changed() { larder_provider_provider_host_resources_changed(); }

// Reports the progress of a long read to the caller.
inline void progress(double done, std::optional<double> total = {}, std::optional<std::string_view> message = {}) {
    provider_string_t text = detail::borrowed(message.value_or(std::string_view()));
    larder_provider_provider_host_progress(done, total ? &*total : nullptr, message ? &text : nullptr);
}

// Whether the request was cancelled. The host usually ends a call at once when its client cancels it or leaves, so that
// neither this function returns nor destructors run.
inline bool cancelled() { return larder_provider_provider_host_cancelled(); }

// Milliseconds until the host ends this call.
inline std::uint64_t time_left() { return larder_provider_provider_host_time_left_ms(); }

// Whether bytes are valid UTF-8, as texts must be.
inline bool is_utf8(std::string_view bytes) { return larder_is_utf8(bytes.data(), bytes.size()); }

// Whether a folder was granted with this guest path, or is in a granted folder.
inline bool granted(const char *folder) {
    struct stat found;
    return stat(folder, &found) == 0;
}

// Reads a file in a granted folder. The error says why it cannot be read.
inline Result<std::string> read_file(const std::string &path) {
    larder_text found = {};
    const bool done = larder_read_file(path.c_str(), &found);
    const int code = errno;
    const detail::Allocated memory(found.ptr);
    if (done) return std::string(found.ptr, found.len);
    const std::string text = "cannot read " + path + ": " + std::strerror(code);
    if (code == ENOENT || code == ENOTDIR) {
        // The error itself has no text.
        larder_log(LARDER_DEBUG, "%s", text.c_str());
        return Unexpected(Error{ErrorKind::not_found, text});
    }
    if (code == EACCES || code == EPERM) return denied(text);
    return failed(text);
}

}  // namespace larder
