// The same for tools and prompts: finds the tool or the prompt of a call by its name.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "exports.hpp"

namespace larder::exports {

// Returns the item with this name, or nullptr.
template <class T>
const T *named(const std::vector<T> &items, std::string_view name) {
    for (const T &item : items)
        if (item.name == name) return &item;
    return nullptr;
}

#if defined(LARDER_WITH_TOOLS) || defined(LARDER_WITH_PROMPTS)
template <class Option>
std::optional<Input> input(const Option &given) {
    if (!given.is_some) return std::nullopt;
    return Input(given.val);
}
#endif

#ifdef LARDER_WITH_TOOLS
inline bool list_tools(Provider &provider, provider_string_t *given, larder_tool_page *page) {
    const detail::Owned owned(given, provider_string_free);
    lower(provider.tools(), page->tools);
    return true;
}

inline Result<ToolAnswer> run(const std::vector<Tool> &tools, const ToolCall &call) {
    const Tool *tool = named(tools, call.name);
    if (!tool) return not_found();
    if (!tool->call) return failed("tool `" + tool->name + "` has no function `call`");
    return tool->call(call);
}

inline bool call_tool(Provider &provider, larder_tool_call *call, larder_tool_answer *to, larder_error *error) {
    const detail::Owned owned(call, exports_larder_provider_tool_provider_tool_call_free);
    const ToolCall lifted{detail::view(call->name), Json(detail::view(call->arguments)), input(call->input)};
    return answer(run(provider.tools(), lifted), to, error);
}
#endif

#ifdef LARDER_WITH_PROMPTS
inline bool list_prompts(Provider &provider, provider_string_t *given, larder_prompt_page *page) {
    const detail::Owned owned(given, provider_string_free);
    lower(provider.prompts(), page->prompts);
    return true;
}

inline Result<PromptAnswer> run(const std::vector<Prompt> &prompts, const PromptRequest &request) {
    const Prompt *prompt = named(prompts, request.name);
    if (!prompt) return not_found();
    for (const Argument &argument : prompt->arguments)
        if (argument.required && !request.argument(argument.name)) return invalid("`" + argument.name + "` is missing");
    if (!prompt->get) return failed("prompt `" + prompt->name + "` has no function `get`");
    return prompt->get(request);
}

inline bool get_prompt(Provider &provider, larder_prompt_request *request, larder_prompt_answer *to,
                       larder_error *error) {
    const detail::Owned owned(request, exports_larder_provider_prompt_provider_prompt_request_free);
    const PromptRequest lifted{detail::view(request->name), detail::view(request->arguments), input(request->input)};
    return answer(run(provider.prompts(), lifted), to, error);
}

inline Result<Completion> suggest(const std::vector<Prompt> &prompts, const larder_argument_query &query) {
    const Prompt *prompt = named(prompts, detail::view(query.prompt));
    const Argument *argument = prompt ? named(prompt->arguments, detail::view(query.argument)) : nullptr;
    if (!argument) return not_found();
    if (!argument->complete) return Completion();
    return argument->complete({detail::view(query.prefix), detail::view(query.filled)});
}

inline bool complete_argument(Provider &provider, larder_argument_query *query, larder_suggestions *to,
                              larder_error *error) {
    const detail::Owned owned(query, exports_larder_provider_prompt_provider_argument_query_free);
    return answer(suggest(provider.prompts(), *query), to, error);
}
#endif

}  // namespace larder::exports
