// Tools and prompts: needed after `larder bindings c --with tools,prompts`, or with one of them.
#ifndef LARDER_INTERACTIVE_H
#define LARDER_INTERACTIVE_H

#include "larder.h"

#ifdef __cplusplus
extern "C" {
#endif

// A JSON reader. Paths consist of the names of members and the positions of items, such as "content.version" or
// "items.0.name". They return false if there is no such value, or if it has another type.
bool larder_json_text(const provider_string_t *json, const char *path, larder_text *into);
bool larder_json_number(const provider_string_t *json, const char *path, double *number);
bool larder_json_boolean(const provider_string_t *json, const char *path, bool *value);
// Finds a value of any type. `found` is its JSON text, which is part of `json` and not a copy.
bool larder_json_find(const provider_string_t *json, const char *path, provider_string_t *found);

#if defined(LARDER_WITH_TOOLS) || defined(LARDER_WITH_PROMPTS)

typedef larder_provider_interaction_types_block_t larder_block;
typedef larder_provider_interaction_types_input_required_t larder_input_required;
typedef larder_provider_interaction_types_provided_input_t larder_input;

// Blocks are the content of tool results and messages. Texts must be UTF-8.
larder_block larder_text_block(const char *text, size_t length);
// An embedded resource with a text.
larder_block larder_resource_block(const char *uri, const char *mime, const char *text, size_t length);

// Adds a request to the client. The client answers, and the host makes the call again with the answers and the state.
// Another guest may handle that call. `params` is a JSON object.
void larder_add_request(larder_input_required *required, const char *key, const char *method, const char *params);
// Sets the state, which is returned unchanged.
void larder_set_state(larder_input_required *required, const void *state, size_t length);

// Returns the answer to the request with this key, which is JSON, or NULL if the client could not answer.
const provider_string_t *larder_response(const larder_input *input, const char *key);
// Returns whether the user accepted a form, so that `content.NAME` of the response has the values.
bool larder_accepted(const provider_string_t *response);
// Returns whether the state consists of this text.
bool larder_has_state(const larder_input *input, const char *state);

#endif

#ifdef LARDER_WITH_TOOLS
typedef exports_larder_provider_tool_provider_tool_t larder_tool;
typedef exports_larder_provider_tool_provider_tool_page_t larder_tool_page;
typedef exports_larder_provider_tool_provider_tool_call_t larder_tool_call;
typedef exports_larder_provider_tool_provider_tool_answer_t larder_tool_answer;

// Functions that the provider implements. `call->input.is_some` is false in a first call. The arguments are a JSON
// object, which the host validated against the schema.
bool larder_list_tools(provider_string_t *cursor, larder_tool_page *page, larder_error *error);
bool larder_call_tool(larder_tool_call *call, larder_tool_answer *answer, larder_error *error);

// A value of `hints`. Hints that are not set are unspecified.
provider_option_bool_t larder_hint(bool value);

// Sets the result of a tool to a single text, and returns true. Set `answer->val.complete.structured` for structured
// content.
bool larder_tool_text(larder_tool_answer *answer, const char *text, size_t length);
// Sets a result that explains to the model why the tool failed, and returns true.
bool larder_tool_error(larder_tool_answer *answer, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Ends the call with a request for input, and returns true; see `larder_add_request`.
bool larder_tool_asks(larder_tool_answer *answer, const char *key, const char *method, const char *params);
#endif

#ifdef LARDER_WITH_PROMPTS
typedef exports_larder_provider_prompt_provider_prompt_t larder_prompt;
typedef exports_larder_provider_prompt_provider_argument_t larder_argument;
typedef exports_larder_provider_prompt_provider_prompt_page_t larder_prompt_page;
typedef exports_larder_provider_prompt_provider_prompt_request_t larder_prompt_request;
typedef exports_larder_provider_prompt_provider_prompt_answer_t larder_prompt_answer;
typedef exports_larder_provider_prompt_provider_message_t larder_message;
typedef exports_larder_provider_prompt_provider_argument_query_t larder_argument_query;
typedef exports_larder_provider_prompt_provider_suggestions_t larder_suggestions;

// Functions that the provider implements.
bool larder_list_prompts(provider_string_t *cursor, larder_prompt_page *page, larder_error *error);
bool larder_get_prompt(larder_prompt_request *request, larder_prompt_answer *answer, larder_error *error);
bool larder_complete_argument(larder_argument_query *query, larder_suggestions *suggestions, larder_error *error);

// Returns an argument of a prompt, or NULL.
const provider_string_t *larder_prompt_argument(const larder_prompt_request *request, const char *name);

// Adds a message of the user to the result of a prompt. The block becomes part of it.
void larder_add_message(larder_prompt_answer *answer, larder_block block);
// Ends the call with a request for input, and returns true; see `larder_add_request`.
bool larder_prompt_asks(larder_prompt_answer *answer, const char *key, const char *method, const char *params);
#endif

#ifdef __cplusplus
}
#endif

#endif
