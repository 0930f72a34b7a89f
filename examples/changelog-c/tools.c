// The tools, which a model may call if the operator allows it.
#include <stdlib.h>
#include <string.h>

#include "larder_interactive.h"
#include "source.h"

static const char RANGE[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"from\":{\"type\":\"string\",\"description\":\"The older version.\"},"
    "\"to\":{\"type\":\"string\",\"description\":\"The newer version.\"}},"
    "\"required\":[\"from\",\"to\"]}";

static const char COMPARISON[] =
    "{\"type\":\"object\",\"properties\":{\"changes\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{"
    "\"version\":{\"type\":\"string\"},\"kind\":{\"type\":\"string\"},\"item\":{\"type\":\"string\"}},"
    "\"required\":[\"version\",\"kind\",\"item\"]}}},\"required\":[\"changes\"]}";

static const char FORM[] =
    "{\"mode\":\"form\",\"message\":\"Which version is released?\",\"requestedSchema\":{\"type\":\"object\","
    "\"properties\":{\"version\":{\"type\":\"string\",\"description\":\"Such as 1.2.0\"}},\"required\":[\"version\"]}}";

// Lists the tools. All are on one page.
bool larder_list_tools(provider_string_t *cursor, larder_tool_page *page, larder_error *error) {
    (void)cursor, (void)error;
    larder_tool *tools = larder_new(2, sizeof *tools);
    tools[0] = (larder_tool){
        .name = larder_string("compare_releases"),
        .title = larder_some("Compare releases"),
        .description = larder_some("Lists what changed after one release, up to and including another."),
        .input_schema = larder_string(RANGE),
        .output_schema = larder_some(COMPARISON),
    };
    tools[1] = (larder_tool){
        .name = larder_string("draft_release"),
        .title = larder_some("Draft a release"),
        .description = larder_some("Turns the unreleased changes into a release, after asking for its version."),
        .input_schema = larder_string("{\"type\":\"object\"}"),
    };
    for (size_t at = 0; at < 2; at++) {
        tools[at].hints.read_only = larder_hint(true);
        tools[at].hints.idempotent = larder_hint(true);
        tools[at].hints.open_world = larder_hint(false);
    }
    page->tools.ptr = tools;
    page->tools.len = 2;
    return true;
}

static bool unknown(larder_tool_answer *answer, const release_list *all, const larder_text *version) {
    larder_text known = {0};
    larder_add(&known, "", 0);
    for (size_t at = 0; at < all->len; at++)
        larder_addf(&known, "%s%.*s", at ? ", " : "", (int)all->ptr[at].version.len, all->ptr[at].version.ptr);
    larder_tool_error(answer, "There is no release `%s`. Known releases: %s.", version->ptr, known.ptr);
    free(known.ptr);
    return true;
}

// Appends the changes of a release as text and as JSON.
static void add_changes(const release *of, larder_text *text, larder_text *json) {
    change_list all = changes(of);
    for (size_t at = 0; at < all.len; at++) {
        const change *one = &all.ptr[at];
        if (!one->item) continue;
        larder_addf(text, "%s%.*s %.*s: %s", text->len ? "\n" : "", (int)of->version.len, of->version.ptr,
                    (int)one->kind.len, one->kind.ptr, one->item);
        larder_addf(json, "%s{\"version\":", json->ptr[json->len - 1] == '[' ? "" : ",");
        larder_add_json(json, of->version.ptr, of->version.len);
        larder_addf(json, ",\"kind\":");
        larder_add_json(json, one->kind.ptr, one->kind.len);
        larder_addf(json, ",\"item\":");
        larder_add_json(json, one->item, strlen(one->item));
        larder_addf(json, "}");
    }
    free_changes(&all);
}

// Lists the changes of the releases above `older`, which are newer, from `newer` on.
static void compare(const release *newer, const release *older, larder_tool_answer *answer) {
    larder_text text = {0}, json = {0};
    larder_addf(&json, "{\"changes\":[");
    for (const release *at = newer; at < older; at++) add_changes(at, &text, &json);
    larder_addf(&json, "]}");
    if (!text.len) larder_addf(&text, "Nothing changed.");
    larder_tool_text(answer, text.ptr, text.len);
    answer->val.complete.structured = larder_some(json.ptr);
    free(text.ptr);
    free(json.ptr);
}

static bool compare_releases(const larder_tool_call *call, const release_list *all, larder_tool_answer *answer,
                             larder_error *error) {
    larder_text from = {0}, to = {0};
    // The host has validated the arguments, so this is only the case if the schema is wrong.
    if (!larder_json_text(&call->arguments, "from", &from) || !larder_json_text(&call->arguments, "to", &to))
        return larder_fail(error, LARDER_INVALID, "`from` and `to` are not texts");
    const release *older = find(all, from.ptr, from.len), *newer = find(all, to.ptr, to.len);
    if (!older) unknown(answer, all, &from);
    else if (!newer) unknown(answer, all, &to);
    else compare(newer, older, answer);
    free(from.ptr);
    free(to.ptr);
    return true;
}

static void add_draft(larder_text *draft, slice text, const char *version) {
    slice title;
    next_line(&text, &title);
    larder_addf(draft, "## [%s]\n%.*s%s", version, (int)text.len, text.ptr, text.len ? "\n" : "");
}

// Asks for the version in a first call. The second call contains the answer.
static bool draft_release(const larder_tool_call *call, const release_list *all, larder_tool_answer *answer,
                          larder_error *error) {
    const larder_input *input = &call->input.val;
    const release *unreleased = find(all, "Unreleased", strlen("Unreleased"));
    if (!unreleased) return larder_tool_error(answer, "There is nothing to release.");
    if (!call->input.is_some) {
        larder_tool_asks(answer, "version", "elicitation/create", FORM);
        larder_set_state(&answer->val.input_required, unreleased->digest, strlen(unreleased->digest));
        return true;
    }
    const provider_string_t *response = larder_response(input, "version");
    const char *declined = "No release was drafted.";
    if (!larder_accepted(response)) return larder_tool_text(answer, declined, strlen(declined));
    if (!larder_has_state(input, unreleased->digest))
        return larder_tool_error(answer, "The changelog has changed: draft again.");
    larder_text version = {0}, draft = {0};
    if (!larder_json_text(response, "content.version", &version))
        return larder_fail(error, LARDER_INVALID, "the answer has no version");
    add_draft(&draft, unreleased->text, version.ptr);
    larder_tool_text(answer, draft.ptr, draft.len);
    free(version.ptr);
    free(draft.ptr);
    return true;
}

// Calls a tool.
bool larder_call_tool(larder_tool_call *call, larder_tool_answer *answer, larder_error *error) {
    larder_text text = {0};
    if (!load(&text, error)) return false;
    release_list all = releases(text.ptr, text.len);
    bool done;
    if (larder_equal(&call->name, "compare_releases")) done = compare_releases(call, &all, answer, error);
    else if (larder_equal(&call->name, "draft_release")) done = draft_release(call, &all, answer, error);
    else done = larder_fail(error, LARDER_NOT_FOUND, "no such tool");
    free(all.ptr);
    free(text.ptr);
    exports_larder_provider_tool_provider_tool_call_free(call);
    return done;
}
