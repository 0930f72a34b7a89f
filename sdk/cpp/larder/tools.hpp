// Tools: functions that a model may call. Needed after `larder bindings c --with tools`.
#pragma once

#include "larder_interactive.h"

#ifdef LARDER_WITH_TOOLS

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "error.hpp"
#include "interaction.hpp"
#include "json.hpp"
#include "lower.hpp"
#include "values.hpp"

namespace larder {

// What a client may assume; none means unspecified.
struct Hints {
    // The tool does not change anything.
    std::optional<bool> read_only{};
    // The tool may delete or overwrite something.
    std::optional<bool> destructive{};
    // A repeated call with the same arguments has no further effect.
    std::optional<bool> idempotent{};
    // The tool interacts with the world outside of this provider.
    std::optional<bool> open_world{};
    // The call may take long enough to be handled as a task.
    std::optional<bool> long_running{};
};

// The call of a tool.
struct ToolCall {
    std::string_view name{};
    // A JSON object, which the host validated against the schema.
    Json arguments{};
    // The input that the last call of this function asked for; none in the first call.
    std::optional<Input> input{};
};

struct ToolResult {
    std::vector<Block> content{};
    // JSON text, valid against the schema of the output.
    std::optional<std::string> structured{};
    // The tool failed; the content explains it to the model.
    bool is_error = false;
    Metadata metadata{};

    static ToolResult text(std::string text) { return {.content = {{std::move(text)}}}; }
    static ToolResult error(std::string text) { return {.content = {{std::move(text)}}, .is_error = true}; }
};

using ToolAnswer = std::variant<ToolResult, InputRequired>;

struct Tool {
    std::string name;
    std::optional<std::string> title{};
    std::optional<std::string> description{};
    // The JSON Schema of the arguments: an object.
    std::string input_schema = R"({"type":"object"})";
    // The JSON Schema of the structured result.
    std::optional<std::string> output_schema{};
    Hints hints{};
    // If it returns `InputRequired`, it is called again with the answers.
    std::function<Result<ToolAnswer>(const ToolCall &)> call;
    std::vector<Icon> icons{};
    Metadata metadata{};
};

inline void lower(const Hints &from, exports_larder_provider_tool_provider_hints_t &to) {
    lower(from.read_only, to.read_only);
    lower(from.destructive, to.destructive);
    lower(from.idempotent, to.idempotent);
    lower(from.open_world, to.open_world);
    lower(from.long_running, to.long_running);
}

inline void lower(const Tool &from, larder_tool &to) {
    lower(from.name, to.name);
    lower(from.title, to.title);
    lower(from.description, to.description);
    lower(from.input_schema, to.input_schema);
    lower(from.output_schema, to.output_schema);
    lower(from.hints, to.hints);
    lower(from.icons, to.icons);
    lower(from.metadata, to.metadata);
}

inline void lower(const ToolAnswer &from, larder_tool_answer &to) {
    if (const auto *required = std::get_if<InputRequired>(&from)) {
        to.tag = EXPORTS_LARDER_PROVIDER_TOOL_PROVIDER_TOOL_ANSWER_INPUT_REQUIRED;
        lower(*required, to.val.input_required);
        return;
    }
    const auto &result = *std::get_if<ToolResult>(&from);
    to.tag = EXPORTS_LARDER_PROVIDER_TOOL_PROVIDER_TOOL_ANSWER_COMPLETE;
    lower(result.content, to.val.complete.content);
    lower(result.structured, to.val.complete.structured);
    to.val.complete.is_error = result.is_error;
    lower(result.metadata, to.val.complete.metadata);
}

}  // namespace larder

#endif
