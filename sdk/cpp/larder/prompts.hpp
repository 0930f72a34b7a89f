// Prompts, which a user selects. Needed after `larder bindings c --with prompts`.
#pragma once

#include "larder_interactive.h"

#ifdef LARDER_WITH_PROMPTS

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "error.hpp"
#include "interaction.hpp"
#include "lower.hpp"
#include "values.hpp"

namespace larder {

// A request for suggestions for an argument.
struct ArgumentQuery {
    // The text that has been typed so far.
    std::string_view prefix{};
    // Arguments that are already filled in.
    Pairs filled{};
};

struct Argument {
    std::string name;
    std::optional<std::string> title{};
    std::optional<std::string> description{};
    bool required = false;
    // Suggests values; see `larder::matching`. Without it, there are no suggestions.
    std::function<Result<Completion>(const ArgumentQuery &)> complete{};
};

// A request for the messages of a prompt.
struct PromptRequest {
    std::string_view name{};
    Pairs arguments{};
    // The input that the last call of this function asked for; none in the first call.
    std::optional<Input> input{};

    // The value of an argument. Required arguments are present.
    std::optional<std::string_view> argument(std::string_view name) const {
        for (const auto &[key, value] : arguments)
            if (key == name) return value;
        return std::nullopt;
    }
};

struct Message {
    Block content;
    Role role = Role::user;
};

struct PromptResult {
    std::vector<Message> messages;
    std::optional<std::string> description{};
    Metadata metadata{};
};

using PromptAnswer = std::variant<PromptResult, InputRequired>;

struct Prompt {
    std::string name;
    std::optional<std::string> title{};
    std::optional<std::string> description{};
    std::vector<Argument> arguments{};
    // If it returns `InputRequired`, it is called again with the answers.
    std::function<Result<PromptAnswer>(const PromptRequest &)> get;
    std::vector<Icon> icons{};
    Metadata metadata{};
};

inline void lower(const Argument &from, larder_argument &to) {
    lower(from.name, to.name);
    lower(from.title, to.title);
    lower(from.description, to.description);
    to.required = from.required;
}

inline void lower(const Prompt &from, larder_prompt &to) {
    lower(from.name, to.name);
    lower(from.title, to.title);
    lower(from.description, to.description);
    lower(from.arguments, to.arguments);
    lower(from.icons, to.icons);
    lower(from.metadata, to.metadata);
}

inline void lower(const Completion &from, larder_suggestions &to) {
    lower(from.values, to.values);
    lower(from.total, to.total);
    to.more = from.more;
}

inline void lower(const Message &from, larder_message &to) {
    lower(from.role, to.role);
    lower(from.content, to.content);
}

inline void lower(const PromptAnswer &from, larder_prompt_answer &to) {
    if (const auto *required = std::get_if<InputRequired>(&from)) {
        to.tag = EXPORTS_LARDER_PROVIDER_PROMPT_PROVIDER_PROMPT_ANSWER_INPUT_REQUIRED;
        lower(*required, to.val.input_required);
        return;
    }
    const auto &result = *std::get_if<PromptResult>(&from);
    to.tag = EXPORTS_LARDER_PROVIDER_PROMPT_PROVIDER_PROMPT_ANSWER_COMPLETE;
    lower(result.description, to.val.complete.description);
    lower(result.messages, to.val.complete.messages);
    lower(result.metadata, to.val.complete.metadata);
}

}  // namespace larder

#endif
