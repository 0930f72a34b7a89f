// Outgoing HTTP requests through the host, limited to the hosts that the operator granted.
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
#include "lower.hpp"
#include "values.hpp"

namespace larder::http {

struct Request {
    std::string url;
    std::string method = "GET";
    std::vector<std::pair<std::string, std::string>> headers{};
    std::string body{};
    // Time limit for the whole exchange in milliseconds. The host has its own limit too.
    std::optional<std::uint64_t> timeout_ms{};
};

struct Response {
    int status = 0;
    std::vector<std::pair<std::string, std::string>> headers{};
    std::string body{};

    // The first value of a header. Names are case-insensitive.
    std::optional<std::string_view> header(std::string_view name) const {
        const auto lower_case = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 'a' - 'A') : c; };
        for (const auto &[key, value] : headers) {
            bool same = key.size() == name.size();
            for (std::size_t at = 0; same && at < name.size(); at++) same = lower_case(key[at]) == lower_case(name[at]);
            if (same) return value;
        }
        return std::nullopt;
    }
};

namespace detail {

inline void lower(const Request &from, larder_provider_http_client_request_t &to) {
    larder::lower(from.method, to.method);
    larder::lower(from.url, to.url);
    larder::lower(from.headers, to.headers);
    larder::lower(Bytes(from.body.begin(), from.body.end()), to.body);
    larder::lower(from.timeout_ms, to.timeout_ms);
}

inline Response copy(const larder_provider_http_client_response_t &from) {
    return {from.status, larder::detail::copy(from.headers),
            std::string(larder::detail::view(provider_string_t{from.body.ptr, from.body.len}))};
}

inline Error error_of(const larder_provider_http_client_failure_t &failure) {
    switch (failure.tag) {
    case LARDER_PROVIDER_HTTP_CLIENT_FAILURE_DENIED:
        return {ErrorKind::denied, larder::detail::copy(failure.val.denied)};
    case LARDER_PROVIDER_HTTP_CLIENT_FAILURE_UNREACHABLE:
        return {ErrorKind::unavailable, larder::detail::copy(failure.val.unreachable)};
    case LARDER_PROVIDER_HTTP_CLIENT_FAILURE_TIMED_OUT:
        return {ErrorKind::unavailable, "the remote server did not respond in time"};
    default:
        return {ErrorKind::failed, "the response is larger than the host allows"};
    }
}

inline ErrorKind kind_of(int status) {
    if (status == 304) return ErrorKind::not_modified;
    if (status == 404 || status == 410) return ErrorKind::not_found;
    if (status == 401 || status == 403) return ErrorKind::denied;
    const bool is_temporary = status == 408 || status == 425 || status == 429 || status >= 500;
    return is_temporary ? ErrorKind::unavailable : ErrorKind::failed;
}

}  // namespace detail

// Sends a request. A response of any status is a value.
inline Result<Response> send(const Request &request) {
    larder_provider_http_client_request_t lowered = {};
    detail::lower(request, lowered);
    const larder::detail::Owned owned(&lowered, larder_provider_http_client_request_free);
    larder_provider_http_client_response_t response;
    larder_provider_http_client_failure_t failure;
    if (!larder_provider_http_client_send(&lowered, &response, &failure)) {
        const larder::detail::Owned owned_failure(&failure, larder_provider_http_client_failure_free);
        return Unexpected(detail::error_of(failure));
    }
    const larder::detail::Owned owned_response(&response, larder_provider_http_client_response_free);
    return detail::copy(response);
}

inline Result<Response> get(std::string url) { return send({.url = std::move(url)}); }

// Sends several requests at once, and returns when all of them have ended. The results are in the order of the
// requests.
inline std::vector<Result<Response>> send_all(const std::vector<Request> &requests) {
    larder_provider_http_client_list_request_t lowered = {
        larder::detail::allocate<larder_provider_http_client_request_t>(requests.size()), requests.size()};
    for (std::size_t at = 0; at < requests.size(); at++) detail::lower(requests[at], lowered.ptr[at]);
    const larder::detail::Owned owned(&lowered, larder_provider_http_client_list_request_free);
    larder_provider_http_client_list_result_response_failure_t found;
    larder_provider_http_client_send_all(&lowered, &found);
    const larder::detail::Owned owned_found(&found, larder_provider_http_client_list_result_response_failure_free);
    std::vector<Result<Response>> results;
    results.reserve(found.len);
    for (std::size_t at = 0; at < found.len; at++) {
        const auto &result = found.ptr[at];
        if (result.is_err) results.push_back(Unexpected(detail::error_of(result.val.err)));
        else results.push_back(detail::copy(result.val.ok));
    }
    return results;
}

// Returns a response with a status of success, and the corresponding error for another one:
// `larder::http::get(url).and_then(larder::http::accepted)`.
inline Result<Response> accepted(Response response) {
    if (response.status >= 200 && response.status < 300) return response;
    const std::string text = "the remote server responded with status " + std::to_string(response.status);
    return Unexpected(Error{detail::kind_of(response.status), text});
}

}  // namespace larder::http
