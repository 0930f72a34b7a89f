// A host for the native tests: replaces the imports of the component. It allocates what it passes on, as the host does.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace stub {

// What the host answers.
inline std::map<std::string, std::string> settings;
inline bool has_caller = false;
inline std::vector<int> statuses;

// What the host stores in the shared bucket, and the case of the failure of every operation on the bucket of a caller.
inline std::map<std::string, std::string> values;
inline int failure = 1;

// What the host received.
inline std::string log;
inline std::string notified;

// A copy that the component owns. An empty text has no memory, but a pointer.
inline std::uint8_t *owned(std::string_view text) {
    if (text.empty()) return reinterpret_cast<std::uint8_t *>(1);
    auto *copy = static_cast<std::uint8_t *>(std::malloc(text.size()));
    std::memcpy(copy, text.data(), text.size());
    return copy;
}

// Zeroed memory for a list that the component owns. An empty list has no memory, but a pointer.
template <class T>
T *list(std::size_t count) {
    if (count == 0) return reinterpret_cast<T *>(8);
    return static_cast<T *>(std::calloc(count, sizeof(T)));
}

// Writes a pointer or a length of the canonical ABI.
template <class T>
void put(std::uint8_t *at, T value) {
    std::memcpy(at, &value, sizeof value);
}
inline void put_text(std::uint8_t *at, std::string_view text) {
    put(at, owned(text));
    put(at + sizeof(void *), text.size());
}

inline std::string text(const std::uint8_t *bytes, std::size_t length) {
    return std::string(reinterpret_cast<const char *>(bytes), length);
}

constexpr std::size_t WORD = sizeof(void *);

// A response with one header. Its status decides about the result: 0 is a host that was not granted.
inline void put_response(std::uint8_t *at, int status) {
    put<std::uint8_t>(at, status == 0);
    if (status == 0) {
        put<std::uint8_t>(at + WORD, 0);
        put_text(at + 2 * WORD, "not granted");
        return;
    }
    put<std::uint16_t>(at + WORD, static_cast<std::uint16_t>(status));
    auto *header = list<std::uint8_t>(4 * WORD);
    put_text(header, "Content-Type");
    put_text(header + 2 * WORD, "text/plain");
    put(at + 2 * WORD, header);
    put<std::size_t>(at + 3 * WORD, 1);
    put_text(at + 4 * WORD, status == 204 ? "" : "body");
}

// The failure of an operation on the bucket of a caller. Returns whether it is one.
inline bool fails(std::int32_t bucket, std::uint8_t *to) {
    put<std::uint8_t>(to, bucket != 0);
    if (bucket == 0) return false;
    put<std::uint8_t>(to + WORD, static_cast<std::uint8_t>(failure));
    put_text(to + 2 * WORD, failure == 0 || failure == 5 ? "why" : "");
    return true;
}

}  // namespace stub

extern "C" {

#define STORE(name) __wasm_import_larder_provider_key_value_##name

void STORE(get)(std::int32_t bucket, std::uint8_t *key, std::size_t length, std::uint8_t *to) {
    using namespace stub;
    if (fails(bucket, to)) return;
    const auto found = values.find(text(key, length));
    put<std::uint8_t>(to + WORD, found != values.end());
    if (found != values.end()) put_text(to + 2 * WORD, found->second);
}
void STORE(set)(std::int32_t bucket, std::uint8_t *key, std::size_t length, std::uint8_t *value, std::size_t size,
                std::uint8_t *to) {
    if (!stub::fails(bucket, to)) stub::values[stub::text(key, length)] = stub::text(value, size);
}
void STORE(delete)(std::int32_t bucket, std::uint8_t *key, std::size_t length, std::uint8_t *to) {
    if (!stub::fails(bucket, to)) stub::values.erase(stub::text(key, length));
}
void STORE(compare_and_swap)(std::int32_t bucket, std::uint8_t *key, std::size_t length, std::int32_t is_expected,
                             std::uint8_t *expected, std::size_t expected_size, std::int32_t is_set,
                             std::uint8_t *value, std::size_t size, std::uint8_t *to) {
    using namespace stub;
    if (fails(bucket, to)) return;
    const std::string name = text(key, length);
    const auto found = values.find(name);
    const bool exists = found != values.end();
    const bool same = exists == (is_expected != 0) && (!exists || found->second == text(expected, expected_size));
    put<std::uint8_t>(to + WORD, same);
    if (same && is_set) values[name] = text(value, size);
    if (same && !is_set) values.erase(name);
}
// Two keys on a page.
void STORE(list_keys)(std::int32_t bucket, std::uint8_t *prefix, std::size_t length, std::int32_t is_after,
                      std::uint8_t *cursor, std::size_t cursor_length, std::int32_t, std::uint8_t *to) {
    using namespace stub;
    if (fails(bucket, to)) return;
    std::vector<std::string> keys;
    for (const auto &[key, value] : values) {
        const bool follows = !is_after || key > text(cursor, cursor_length);
        if (follows && key.starts_with(text(prefix, length))) keys.push_back(key);
    }
    const bool has_more = keys.size() > 2;
    if (has_more) keys.resize(2);
    auto *page = list<std::uint8_t>(keys.size() * 2 * WORD);
    for (std::size_t at = 0; at < keys.size(); at++) put_text(page + at * 2 * WORD, keys[at]);
    put(to + WORD, page);
    put<std::size_t>(to + 2 * WORD, keys.size());
    put<std::uint8_t>(to + 3 * WORD, has_more);
    if (has_more) put_text(to + 4 * WORD, keys.back());
}

void __component_type_object_force_link_provider(void) {}

#define HOST(name) __wasm_import_larder_provider_provider_host_##name
#define CLIENT(name) __wasm_import_larder_provider_interaction_host_##name

void HOST(get_caller)(std::uint8_t *to) {
    using namespace stub;
    put<std::uint8_t>(to, has_caller);
    if (!has_caller) return;
    put<std::uint8_t>(to + WORD, 1);
    put_text(to + 2 * WORD, "ada");
    put<std::uint8_t>(to + 4 * WORD, 0);
    put_text(to + 7 * WORD, "team");
    auto *scopes = list<std::uint8_t>(4 * WORD);
    put_text(scopes, "read");
    put_text(scopes + 2 * WORD, "");
    put(to + 9 * WORD, scopes);
    put<std::size_t>(to + 10 * WORD, 2);
}

void HOST(request_metadata)(std::uint8_t *to) {
    using namespace stub;
    auto *pair = list<std::uint8_t>(4 * WORD);
    put_text(pair, "example.org/a");
    put_text(pair + 2 * WORD, "{}");
    put(to, pair);
    put<std::size_t>(to + WORD, 1);
}

void HOST(setting)(std::uint8_t *name, std::size_t length, std::uint8_t *to) {
    const auto found = stub::settings.find(stub::text(name, length));
    stub::put<std::uint8_t>(to, found != stub::settings.end());
    if (found != stub::settings.end()) stub::put_text(to + stub::WORD, found->second);
}

void HOST(log)(std::int32_t level, std::uint8_t *message, std::size_t length) {
    stub::log += std::to_string(level) + " " + stub::text(message, length) + "\n";
}

void HOST(resource_updated)(std::uint8_t *uri, std::size_t length) { stub::notified += stub::text(uri, length) + " "; }
void HOST(resources_changed)() { stub::notified += "resources "; }

void HOST(progress)(double done, std::int32_t has_total, double total, std::int32_t has_message, std::uint8_t *message,
                    std::size_t length) {
    stub::notified += std::to_string(static_cast<int>(done)) + "/";
    stub::notified += has_total ? std::to_string(static_cast<int>(total)) : "";
    stub::notified += has_message ? " " + stub::text(message, length) + " " : " ";
}

std::int32_t HOST(cancelled)() { return 0; }
std::int64_t HOST(time_left_ms)() { return 5000; }

std::int32_t CLIENT(client_supports)(std::uint8_t *capability, std::size_t length) {
    return stub::text(capability, length) == "/elicitation";
}
void CLIENT(client_log_level)(std::uint8_t *to) {
    stub::put<std::uint8_t>(to, 1);
    stub::put<std::uint8_t>(to + 1, 3);
}
void CLIENT(log_to_client)(std::int32_t severity, std::int32_t has_logger, std::uint8_t *logger,
                           std::size_t logger_length, std::uint8_t *data, std::size_t length) {
    stub::notified += std::to_string(severity) + " " + (has_logger ? stub::text(logger, logger_length) : "") + " " +
                      stub::text(data, length) + " ";
}
void CLIENT(tools_changed)() { stub::notified += "tools "; }
void CLIENT(prompts_changed)() { stub::notified += "prompts "; }

void __wasm_import_larder_provider_http_client_send(std::uint8_t *, std::size_t, std::uint8_t *, std::size_t,
                                                    std::uint8_t *, std::size_t, std::uint8_t *, std::size_t,
                                                    std::int32_t, std::int64_t, std::uint8_t *to) {
    stub::put_response(to, stub::statuses.at(0));
}
void __wasm_import_larder_provider_http_client_send_all(std::uint8_t *, std::size_t count, std::uint8_t *to) {
    const std::size_t size = 6 * stub::WORD;
    auto *results = stub::list<std::uint8_t>(count * size);
    for (std::size_t at = 0; at < count; at++) stub::put_response(results + at * size, stub::statuses.at(at));
    stub::put(to, results);
    stub::put(to + stub::WORD, count);
}

}  // extern "C"
