// What tools and prompts share: content, and input from the client.
#pragma once

#include "larder_interactive.h"

#if defined(LARDER_WITH_TOOLS) || defined(LARDER_WITH_PROMPTS)

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "json.hpp"
#include "lift.hpp"
#include "lower.hpp"
#include "values.hpp"

namespace larder {

struct Image {
    std::string mime_type;
    Bytes data;
};

struct Audio {
    std::string mime_type;
    Bytes data;
};

// A resource with its content.
struct Embedded {
    std::string uri;
    std::variant<std::string, Bytes> body;
    std::optional<std::string> mime_type{};
    Metadata metadata{};
};

struct Annotations {
    std::vector<Role> audience{};
    // From 0 (optional) to 1 (required).
    std::optional<double> priority{};
    // RFC 3339.
    std::optional<std::string> last_modified{};
};

// One piece of content: `larder::Block{"a text"}`. An entry is a reference to a resource.
struct Block {
    std::variant<std::string, Image, Audio, Entry, Embedded> value;
    std::optional<Annotations> annotations{};
    Metadata metadata{};
};

// A request to the client. `params` is a JSON object.
struct InputRequest {
    std::string key;
    std::string method;
    std::string params = "{}";
};

// Ends a call. The client answers, and the host calls the same function again, possibly in another guest. Nothing else
// than the state is certain to survive.
struct InputRequired {
    std::vector<InputRequest> requests;
    // Returned unchanged with the answers. The host encrypts it.
    std::optional<std::string> state{};
};

// Asks the user to fill in a form. The schema is the JSON Schema of an object.
inline InputRequest elicit(std::string key, std::string_view message, std::string_view schema) {
    std::string params = R"({"mode":"form","message":)" + quote(message) + R"(,"requestedSchema":)";
    return {std::move(key), "elicitation/create", params.append(schema) + "}"};
}

// Asks the user to open a page.
inline InputRequest elicit_url(std::string key, std::string_view message, std::string_view url) {
    std::string params = R"({"mode":"url","message":)" + quote(message) + R"(,"url":)" + quote(url) + "}";
    return {std::move(key), "elicitation/create", std::move(params)};
}

// Asks the model of the client for a message. The parameters are those of `sampling/createMessage`.
inline InputRequest sample(std::string key, std::string params) {
    return {std::move(key), "sampling/createMessage", std::move(params)};
}

// Asks for the folders of the client.
inline InputRequest roots(std::string key) { return {std::move(key), "roots/list"}; }

// The input of the client. It is valid during the call.
class Input {
public:
    explicit Input(const larder_input &input) : input_(&input) {}

    // The result for a request; none if there is no answer, or if the client could not answer.
    std::optional<Json> answer(const char *key) const {
        const provider_string_t *found = larder_response(input_, key);
        if (!found) return std::nullopt;
        return Json(detail::view(*found));
    }

    // The content of a form that the user accepted.
    std::optional<Json> accepted(const char *key) const {
        const provider_string_t *found = larder_response(input_, key);
        if (!found || !larder_accepted(found)) return std::nullopt;
        return Json(detail::view(*found)).find("content").value_or(Json("{}"));
    }

    // The state that the last call returned.
    std::optional<std::string_view> state() const {
        if (!input_->state.is_some) return std::nullopt;
        return detail::view(provider_string_t{input_->state.val.ptr, input_->state.val.len});
    }

private:
    const larder_input *input_;
};

inline void lower(const Annotations &from, larder_provider_interaction_types_annotations_t &to) {
    lower(from.audience, to.audience);
    lower(from.priority, to.priority);
    lower(from.last_modified, to.last_modified);
}

// Sets the case of a block for each type.
struct LowerBlock {
    larder_provider_interaction_types_block_value_t &to;

    void operator()(const std::string &text) const {
        to.tag = LARDER_PROVIDER_INTERACTION_TYPES_BLOCK_VALUE_TEXT;
        lower(text, to.val.text);
    }
    void operator()(const Image &image) const {
        to.tag = LARDER_PROVIDER_INTERACTION_TYPES_BLOCK_VALUE_IMAGE;
        lower(image.mime_type, to.val.image.mime_type);
        lower(image.data, to.val.image.data);
    }
    void operator()(const Audio &audio) const {
        to.tag = LARDER_PROVIDER_INTERACTION_TYPES_BLOCK_VALUE_AUDIO;
        lower(audio.mime_type, to.val.audio.mime_type);
        lower(audio.data, to.val.audio.data);
    }
    void operator()(const Entry &link) const {
        to.tag = LARDER_PROVIDER_INTERACTION_TYPES_BLOCK_VALUE_LINK;
        lower(link, to.val.link);
    }
    void operator()(const Embedded &resource) const {
        to.tag = LARDER_PROVIDER_INTERACTION_TYPES_BLOCK_VALUE_EMBEDDED;
        lower(resource.uri, to.val.embedded.uri);
        lower(resource.mime_type, to.val.embedded.mime_type);
        lower(resource.body, to.val.embedded.body);
        lower(resource.metadata, to.val.embedded.metadata);
    }
};

inline void lower(const Block &from, larder_block &to) {
    std::visit(LowerBlock{to.value}, from.value);
    lower(from.annotations, to.annotations);
    lower(from.metadata, to.metadata);
}

inline void lower(const InputRequest &from, larder_provider_interaction_types_input_request_t &to) {
    lower(from.key, to.key);
    lower(from.method, to.method);
    lower(from.params, to.params);
}

inline void lower(const InputRequired &from, larder_input_required &to) {
    lower(from.requests, to.requests);
    to.state.is_some = from.state.has_value();
    if (from.state) lower(Bytes(from.state->begin(), from.state->end()), to.state.val);
}

// The lowest to the highest.
enum class Severity : std::uint8_t { debug, info, notice, warning, error, critical, alert, emergency };

// Whether the client supports a capability: a JSON Pointer into its capabilities, such as `/elicitation/url`.
inline bool client_supports(std::string_view capability) {
    provider_string_t text = detail::borrowed(capability);
    return larder_provider_interaction_host_client_supports(&text);
}

// The lowest severity that the client asked for, if any.
inline std::optional<Severity> client_log_level() {
    larder_provider_interaction_host_severity_t found;
    if (!larder_provider_interaction_host_client_log_level(&found)) return std::nullopt;
    return static_cast<Severity>(found);
}

// Sends a log message to the client. `data` is JSON text.
inline void log_to_client(Severity severity, std::string_view data, std::optional<std::string_view> logger = {}) {
    provider_string_t text = detail::borrowed(data), name = detail::borrowed(logger.value_or(std::string_view()));
    const auto level = static_cast<std::uint8_t>(severity);
    larder_provider_interaction_host_log_to_client(level, logger ? &name : nullptr, &text);
}

// Notify clients that a list has changed.
inline void tools_changed() { larder_provider_interaction_host_tools_changed(); }
inline void prompts_changed() { larder_provider_interaction_host_prompts_changed(); }

}  // namespace larder

#endif
