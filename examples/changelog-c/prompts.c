// The prompt, which a user selects.
#include <stdlib.h>
#include <string.h>

#include "larder_interactive.h"
#include "source.h"

// Lists the prompts. All are on one page.
bool larder_list_prompts(provider_string_t *cursor, larder_prompt_page *page, larder_error *error) {
    (void)cursor, (void)error;
    larder_argument *arguments = larder_new(2, sizeof *arguments);
    arguments[0].name = larder_string("version");
    arguments[0].description = larder_some("The version to announce.");
    arguments[0].required = true;
    arguments[1].name = larder_string("tone");
    arguments[1].description = larder_some("Such as friendly or formal.");
    larder_prompt *prompt = larder_new(1, sizeof *prompt);
    prompt->name = larder_string("announce_release");
    prompt->title = larder_some("Announce a release");
    prompt->description = larder_some("Writes an announcement of a release.");
    prompt->arguments.ptr = arguments;
    prompt->arguments.len = 2;
    page->prompts.ptr = prompt;
    page->prompts.len = 1;
    return true;
}

// Writes the messages.
static void announce(const release *of, const provider_string_t *tone, larder_prompt_answer *answer) {
    larder_text text = {0}, uri = {0};
    int length = (int)of->version.len;
    larder_addf(&text, "Announcement of release %.*s", length, of->version.ptr);
    answer->val.complete.description = larder_some(text.ptr);
    text.len = 0;
    larder_addf(&text, "Write an announcement of release %.*s for its users", length, of->version.ptr);
    if (tone) larder_addf(&text, ", in a %.*s tone", (int)tone->len, (const char *)tone->ptr);
    larder_addf(&text, ". Name the most important change first.");
    larder_add_message(answer, larder_text_block(text.ptr, text.len));
    text.len = 0;
    larder_addf(&text, "%.*s\n", (int)of->text.len, of->text.ptr);
    larder_addf(&uri, RELEASES "%.*s", length, of->version.ptr);
    larder_add_message(answer, larder_resource_block(uri.ptr, "text/markdown", text.ptr, text.len));
    free(text.ptr);
    free(uri.ptr);
}

// Returns the messages of a prompt.
bool larder_get_prompt(larder_prompt_request *request, larder_prompt_answer *answer, larder_error *error) {
    if (!larder_equal(&request->name, "announce_release"))
        return larder_fail(error, LARDER_NOT_FOUND, "no such prompt");
    const provider_string_t *version = larder_prompt_argument(request, "version");
    if (!version) return larder_fail(error, LARDER_INVALID, "`version` is missing");
    larder_text text = {0};
    if (!load(&text, error)) return false;
    release_list all = releases(text.ptr, text.len);
    const release *found = find(&all, version->ptr, version->len);
    if (found) announce(found, larder_prompt_argument(request, "tone"), answer);
    else larder_fail(error, LARDER_INVALID, "there is no release `%.*s`", (int)version->len, (const char *)version->ptr);
    free(all.ptr);
    free(text.ptr);
    exports_larder_provider_prompt_provider_prompt_request_free(request);
    return found;
}

static void complete_tone(const provider_string_t *prefix, larder_suggestions *suggestions) {
    static const char *const TONES[] = {"friendly", "formal"};
    suggestions->values.ptr = larder_new(2, sizeof(provider_string_t));
    for (size_t at = 0; at < 2; at++)
        if (strlen(TONES[at]) >= prefix->len && memcmp(TONES[at], prefix->ptr, prefix->len) == 0)
            suggestions->values.ptr[suggestions->values.len++] = larder_string(TONES[at]);
    suggestions->total = (provider_option_u64_t){true, suggestions->values.len};
}

// Suggests values for the arguments.
bool larder_complete_argument(larder_argument_query *query, larder_suggestions *suggestions, larder_error *error) {
    bool known = larder_equal(&query->prompt, "announce_release");
    bool done = true;
    if (known && larder_equal(&query->argument, "version")) {
        larder_completion found = {0};
        done = complete_version(&query->prefix, &found, error);
        *suggestions = (larder_suggestions){found.values, found.total, found.more};
    } else if (known && larder_equal(&query->argument, "tone")) {
        complete_tone(&query->prefix, suggestions);
    } else {
        done = larder_fail(error, LARDER_NOT_FOUND, "no such argument");
    }
    exports_larder_provider_prompt_provider_argument_query_free(query);
    return done;
}
