// Checks what a provider returns from the functions of the optional interfaces.
#include "larder_check.h"
#include "larder_interactive.h"
#include "larder_settings.h"

#include <string.h>

#ifdef LARDER_WITH_COMPLETIONS
bool exports_larder_provider_completion_provider_complete(larder_completion_request *request, larder_completion *found,
                                                          larder_error *error) {
    memset(found, 0, sizeof *found);
    memset(error, 0, sizeof *error);
    bool done = larder_complete(request, found, error);
    bool good = done && LARDER_EACH("values", found->values, larder_good_string_item);
    return larder_result("larder_complete", done, good, error);
}
#endif

#ifdef LARDER_WITH_VERSIONS
static bool good_version(const void *item) { return larder_good_option("", item); }

bool exports_larder_provider_version_provider_versions(provider_list_string_t *uris,
                                                       provider_list_option_string_t *versions, larder_error *error) {
    size_t expected = uris->len;
    memset(versions, 0, sizeof *versions);
    memset(error, 0, sizeof *error);
    bool done = larder_versions(uris, versions, error);
    bool complete = !done || versions->len == expected ||
                    larder_bad("there are %zu versions for %zu URIs", versions->len, expected);
    bool good = done && complete && LARDER_EACH("versions", *versions, good_version);
    return larder_result("larder_versions", done, good, error);
}
#endif

#ifdef LARDER_WITH_SEARCH
static bool good_hit(const void *item) {
    const larder_hit *hit = item;
    return larder_within(larder_good_entry(&hit->entry), ".entry") && larder_good_option(".excerpt", &hit->excerpt);
}

bool exports_larder_provider_search_provider_search(larder_search_query *query, larder_hits *found,
                                                    larder_error *error) {
    memset(found, 0, sizeof *found);
    memset(error, 0, sizeof *error);
    bool done = larder_search(query, found, error);
    bool good = done && LARDER_EACH("hits", found->hits, good_hit) &&
                larder_good_freshness(found->freshness.is_some, &found->freshness.val);
    return larder_result("larder_search", done, good, error);
}
#endif

#ifdef LARDER_WITH_SETTINGS
static bool good_declaration(const void *item) {
    const exports_larder_provider_settings_provider_declaration_t *setting = item;
    if (setting->kind > EXPORTS_LARDER_PROVIDER_SETTINGS_PROVIDER_KIND_DURATION)
        return larder_bad(".kind is %d, which is not a kind", setting->kind);
    return larder_good_identifier(".name", &setting->name) && larder_good_text(".description", &setting->description) &&
           larder_good_option(".default", &setting->default_);
}

void exports_larder_provider_settings_provider_settings(larder_declarations *declarations) {
    memset(declarations, 0, sizeof *declarations);
    larder_settings(declarations);
    if (LARDER_EACH("declarations", *declarations, good_declaration)) return;
    // An error is not possible.
    larder_log(LARDER_ERROR, "larder_settings: %s", larder_problem());
    memset(declarations, 0, sizeof *declarations);
}
#endif

#if defined(LARDER_WITH_TOOLS) || defined(LARDER_WITH_PROMPTS)
static bool good_media(const larder_provider_interaction_types_media_t *media) {
    return larder_good_identifier(".mime_type", &media->mime_type) && larder_good_bytes(".data", &media->data);
}

static bool good_resource(const larder_provider_interaction_types_embedded_resource_t *resource) {
    return larder_good_identifier(".uri", &resource->uri) && larder_good_option(".mime_type", &resource->mime_type) &&
           larder_good_body(&resource->body) && larder_good_metadata(&resource->metadata);
}

static bool good_value(const larder_provider_interaction_types_block_value_t *value) {
    switch (value->tag) {
    case LARDER_PROVIDER_INTERACTION_TYPES_BLOCK_VALUE_TEXT:
        return larder_good_text(".text", &value->val.text);
    case LARDER_PROVIDER_INTERACTION_TYPES_BLOCK_VALUE_IMAGE:
        return larder_within(good_media(&value->val.image), ".image");
    case LARDER_PROVIDER_INTERACTION_TYPES_BLOCK_VALUE_AUDIO:
        return larder_within(good_media(&value->val.audio), ".audio");
    case LARDER_PROVIDER_INTERACTION_TYPES_BLOCK_VALUE_LINK:
        return larder_within(larder_good_entry(&value->val.link), ".link");
    case LARDER_PROVIDER_INTERACTION_TYPES_BLOCK_VALUE_EMBEDDED:
        return larder_within(good_resource(&value->val.embedded), ".embedded");
    default:
        return larder_bad(".tag is %d, which is not a block", value->tag);
    }
}

static bool good_block(const void *item) {
    const larder_block *block = item;
    const larder_provider_interaction_types_annotations_t *annotations = &block->annotations.val;
    bool annotated = !block->annotations.is_some ||
                     (LARDER_EACH(".annotations.audience", annotations->audience, larder_good_role) &&
                      larder_good_option(".annotations.last_modified", &annotations->last_modified));
    return annotated && larder_within(good_value(&block->value), ".value") && larder_good_metadata(&block->metadata);
}

static bool good_request(const void *item) {
    const larder_provider_interaction_types_input_request_t *request = item;
    return larder_good_identifier(".key", &request->key) && larder_good_identifier(".method", &request->method) &&
           larder_good_identifier(".params", &request->params);
}

static bool good_requests(const larder_input_required *required) {
    provider_list_u8_t state = {0};
    if (required->state.is_some) state = required->state.val;
    return LARDER_EACH("requests", required->requests, good_request) && larder_good_bytes("state", &state);
}
#endif

#ifdef LARDER_WITH_TOOLS
static bool good_tool(const void *item) {
    const larder_tool *tool = item;
    return larder_good_identifier(".name", &tool->name) && larder_good_option(".title", &tool->title) &&
           larder_good_option(".description", &tool->description) &&
           larder_good_identifier(".input_schema", &tool->input_schema) &&
           larder_good_option(".output_schema", &tool->output_schema) &&
           LARDER_EACH(".icons", tool->icons, larder_good_icon) && larder_good_metadata(&tool->metadata);
}

bool exports_larder_provider_tool_provider_list_tools(provider_string_t *cursor, larder_tool_page *page,
                                                      larder_error *error) {
    memset(page, 0, sizeof *page);
    memset(error, 0, sizeof *error);
    bool done = larder_list_tools(cursor, page, error);
    bool good = done && LARDER_EACH("tools", page->tools, good_tool) &&
                larder_good_option("next_cursor", &page->next_cursor) &&
                larder_good_freshness(page->freshness.is_some, &page->freshness.val);
    return larder_result("larder_list_tools", done, good, error);
}

static bool good_answer(const larder_tool_answer *answer) {
    if (answer->tag == EXPORTS_LARDER_PROVIDER_TOOL_PROVIDER_TOOL_ANSWER_INPUT_REQUIRED)
        return good_requests(&answer->val.input_required);
    if (answer->tag != EXPORTS_LARDER_PROVIDER_TOOL_PROVIDER_TOOL_ANSWER_COMPLETE)
        return larder_bad("tag is %d, which is not an answer", answer->tag);
    return LARDER_EACH("content", answer->val.complete.content, good_block) &&
           larder_good_option("structured", &answer->val.complete.structured) &&
           larder_within(larder_good_metadata(&answer->val.complete.metadata), "answer");
}

bool exports_larder_provider_tool_provider_call_tool(larder_tool_call *call, larder_tool_answer *answer,
                                                     larder_error *error) {
    memset(answer, 0, sizeof *answer);
    memset(error, 0, sizeof *error);
    bool done = larder_call_tool(call, answer, error);
    return larder_result("larder_call_tool", done, done && good_answer(answer), error);
}
#endif

#ifdef LARDER_WITH_PROMPTS
static bool good_argument(const void *item) {
    const larder_argument *argument = item;
    return larder_good_identifier(".name", &argument->name) && larder_good_option(".title", &argument->title) &&
           larder_good_option(".description", &argument->description);
}

static bool good_prompt(const void *item) {
    const larder_prompt *prompt = item;
    return larder_good_identifier(".name", &prompt->name) && larder_good_option(".title", &prompt->title) &&
           larder_good_option(".description", &prompt->description) &&
           LARDER_EACH(".arguments", prompt->arguments, good_argument) &&
           LARDER_EACH(".icons", prompt->icons, larder_good_icon) && larder_good_metadata(&prompt->metadata);
}

bool exports_larder_provider_prompt_provider_list_prompts(provider_string_t *cursor, larder_prompt_page *page,
                                                          larder_error *error) {
    memset(page, 0, sizeof *page);
    memset(error, 0, sizeof *error);
    bool done = larder_list_prompts(cursor, page, error);
    bool good = done && LARDER_EACH("prompts", page->prompts, good_prompt) &&
                larder_good_option("next_cursor", &page->next_cursor) &&
                larder_good_freshness(page->freshness.is_some, &page->freshness.val);
    return larder_result("larder_list_prompts", done, good, error);
}

static bool good_message(const void *item) {
    const larder_message *message = item;
    return larder_within(larder_good_role(&message->role), ".role") &&
           larder_within(good_block(&message->content), ".content");
}

static bool good_messages(const larder_prompt_answer *answer) {
    if (answer->tag == EXPORTS_LARDER_PROVIDER_PROMPT_PROVIDER_PROMPT_ANSWER_INPUT_REQUIRED)
        return good_requests(&answer->val.input_required);
    if (answer->tag != EXPORTS_LARDER_PROVIDER_PROMPT_PROVIDER_PROMPT_ANSWER_COMPLETE)
        return larder_bad("tag is %d, which is not an answer", answer->tag);
    return larder_good_option("description", &answer->val.complete.description) &&
           LARDER_EACH("messages", answer->val.complete.messages, good_message) &&
           larder_within(larder_good_metadata(&answer->val.complete.metadata), "answer");
}

bool exports_larder_provider_prompt_provider_get_prompt(larder_prompt_request *request, larder_prompt_answer *answer,
                                                        larder_error *error) {
    memset(answer, 0, sizeof *answer);
    memset(error, 0, sizeof *error);
    bool done = larder_get_prompt(request, answer, error);
    return larder_result("larder_get_prompt", done, done && good_messages(answer), error);
}

bool exports_larder_provider_prompt_provider_complete_argument(larder_argument_query *query, larder_suggestions *found,
                                                               larder_error *error) {
    memset(found, 0, sizeof *found);
    memset(error, 0, sizeof *error);
    bool done = larder_complete_argument(query, found, error);
    bool good = done && LARDER_EACH("values", found->values, larder_good_string_item);
    return larder_result("larder_complete_argument", done, good, error);
}
#endif
