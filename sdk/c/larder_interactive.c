// Implementation of larder_interactive.h, except for the JSON reader.
#include "larder_interactive.h"

#include <stdlib.h>
#include <string.h>

#if defined(LARDER_WITH_TOOLS) || defined(LARDER_WITH_PROMPTS)

larder_block larder_text_block(const char *text, size_t length) {
    larder_block block = {0};
    block.value.tag = LARDER_PROVIDER_INTERACTION_TYPES_BLOCK_VALUE_TEXT;
    block.value.val.text = larder_bytes(text, length);
    return block;
}

larder_block larder_resource_block(const char *uri, const char *mime, const char *text, size_t length) {
    larder_block block = {0};
    block.value.tag = LARDER_PROVIDER_INTERACTION_TYPES_BLOCK_VALUE_EMBEDDED;
    larder_provider_interaction_types_embedded_resource_t *resource = &block.value.val.embedded;
    resource->uri = larder_string(uri);
    resource->mime_type = larder_some(mime);
    resource->body.tag = LARDER_PROVIDER_PROVIDER_TYPES_BODY_TEXT;
    resource->body.val.text = larder_bytes(text, length);
    return block;
}

void larder_add_request(larder_input_required *required, const char *key, const char *method, const char *params) {
    size_t known = required->requests.len;
    larder_provider_interaction_types_input_request_t *all = larder_new(known + 1, sizeof *all);
    if (known) memcpy(all, required->requests.ptr, known * sizeof *all);
    free(required->requests.ptr);
    all[known] = (larder_provider_interaction_types_input_request_t){
        larder_string(key), larder_string(method), larder_string(params)};
    required->requests.ptr = all;
    required->requests.len = known + 1;
}

void larder_set_state(larder_input_required *required, const void *state, size_t length) {
    provider_string_t copy = larder_bytes(state, length);
    required->state = (provider_option_list_u8_t){true, {copy.ptr, copy.len}};
}

const provider_string_t *larder_response(const larder_input *input, const char *key) {
    for (size_t at = 0; at < input->responses.len; at++) {
        const larder_provider_interaction_types_input_response_t *response = &input->responses.ptr[at];
        if (larder_equal(&response->key, key)) return response->outcome.is_err ? NULL : &response->outcome.val.ok;
    }
    return NULL;
}

bool larder_accepted(const provider_string_t *response) {
    larder_text action = {0};
    bool accepted = response && larder_json_text(response, "action", &action) && strcmp(action.ptr, "accept") == 0;
    free(action.ptr);
    return accepted;
}

bool larder_has_state(const larder_input *input, const char *state) {
    provider_string_t has = {input->state.val.ptr, input->state.val.len};
    return input->state.is_some && larder_equal(&has, state);
}

#endif

#ifdef LARDER_WITH_TOOLS

provider_option_bool_t larder_hint(bool value) { return (provider_option_bool_t){true, value}; }

bool larder_tool_text(larder_tool_answer *answer, const char *text, size_t length) {
    *answer = (larder_tool_answer){.tag = EXPORTS_LARDER_PROVIDER_TOOL_PROVIDER_TOOL_ANSWER_COMPLETE};
    larder_block *block = larder_new(1, sizeof *block);
    *block = larder_text_block(text, length);
    answer->val.complete.content.ptr = block;
    answer->val.complete.content.len = 1;
    return true;
}

bool larder_tool_error(larder_tool_answer *answer, const char *format, ...) {
    larder_text text = {0};
    va_list arguments;
    va_start(arguments, format);
    larder_addv(&text, format, arguments);
    va_end(arguments);
    larder_tool_text(answer, text.ptr, text.len);
    free(text.ptr);
    answer->val.complete.is_error = true;
    return true;
}

bool larder_tool_asks(larder_tool_answer *answer, const char *key, const char *method, const char *params) {
    *answer = (larder_tool_answer){.tag = EXPORTS_LARDER_PROVIDER_TOOL_PROVIDER_TOOL_ANSWER_INPUT_REQUIRED};
    larder_add_request(&answer->val.input_required, key, method, params);
    return true;
}

#endif

#ifdef LARDER_WITH_PROMPTS

const provider_string_t *larder_prompt_argument(const larder_prompt_request *request, const char *name) {
    for (size_t at = 0; at < request->arguments.len; at++)
        if (larder_equal(&request->arguments.ptr[at].f0, name)) return &request->arguments.ptr[at].f1;
    return NULL;
}

void larder_add_message(larder_prompt_answer *answer, larder_block block) {
    exports_larder_provider_prompt_provider_list_message_t *messages = &answer->val.complete.messages;
    larder_message *all = larder_new(messages->len + 1, sizeof *all);
    if (messages->len) memcpy(all, messages->ptr, messages->len * sizeof *all);
    free(messages->ptr);
    all[messages->len] = (larder_message){LARDER_PROVIDER_PROVIDER_TYPES_ROLE_USER, block};
    messages->ptr = all;
    messages->len++;
}

bool larder_prompt_asks(larder_prompt_answer *answer, const char *key, const char *method, const char *params) {
    *answer = (larder_prompt_answer){.tag = EXPORTS_LARDER_PROVIDER_PROMPT_PROVIDER_PROMPT_ANSWER_INPUT_REQUIRED};
    larder_add_request(&answer->val.input_required, key, method, params);
    return true;
}

#endif
