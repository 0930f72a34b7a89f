// Checks what a provider returns. Without them, a mistake would be a trap that names nothing.
#include "larder_check.h"

#include <stdio.h>
#include <string.h>

static char problem[512];

const char *larder_problem(void) { return problem; }

bool larder_bad(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(problem, sizeof problem, format, arguments);
    va_end(arguments);
    return false;
}

bool larder_within(bool good, const char *format, ...) {
    if (good) return true;
    char path[sizeof problem];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(path, sizeof path, format, arguments);
    va_end(arguments);
    size_t length = strlen(path), kept = strlen(problem);
    if (length + kept >= sizeof problem) kept = sizeof problem - 1 - length;
    memmove(problem + length, problem, kept);
    memcpy(problem, path, length);
    problem[length + kept] = 0;
    return false;
}

// Whether these bytes are in memory. A length that was not set is often too large for it.
static bool good_memory(const char *field, const void *pointer, size_t count, size_t size) {
    if (!count) return true;
    if (!pointer) return larder_bad("%s is NULL, with the length %zu", field, count);
#ifdef __wasm__
    uint64_t end = (uintptr_t)pointer + (uint64_t)count * size;
    if (end > (uint64_t)__builtin_wasm_memory_size(0) * 65536)
        return larder_bad("%s is not in memory, with the length %zu", field, count);
#else
    (void)size;
#endif
    return true;
}

bool larder_each(const char *field, const void *items, size_t count, size_t size, bool (*check)(const void *)) {
    if (!good_memory(field, items, count, size)) return false;
    for (size_t at = 0; at < count; at++)
        if (!larder_within(check((const char *)items + at * size), "%s[%zu]", field, at)) return false;
    return true;
}

// In the checks of items, the name of a field begins with the dot that separates it from the path.
bool larder_good_text(const char *field, const provider_string_t *text) {
    if (!good_memory(field, text->ptr, text->len, 1)) return false;
    return larder_is_utf8(text->ptr, text->len) || larder_bad("%s is not UTF-8", field);
}

bool larder_good_identifier(const char *field, const provider_string_t *text) {
    return text->len ? larder_good_text(field, text) : larder_bad("%s is empty", field);
}

bool larder_good_option(const char *field, const provider_option_string_t *text) {
    return !text->is_some || larder_good_text(field, &text->val);
}

bool larder_good_bytes(const char *field, const provider_list_u8_t *bytes) {
    return good_memory(field, bytes->ptr, bytes->len, 1);
}

bool larder_good_body(const larder_provider_provider_types_body_t *body) {
    switch (body->tag) {
    case LARDER_PROVIDER_PROVIDER_TYPES_BODY_TEXT:
        return larder_good_text(".body", &body->val.text);
    case LARDER_PROVIDER_PROVIDER_TYPES_BODY_BLOB:
        return larder_good_bytes(".body", &body->val.blob);
    default:
        return larder_bad(".body.tag is %d, which is not a body", body->tag);
    }
}

bool larder_good_role(const void *role) {
    const larder_provider_provider_types_role_t *value = role;
    return *value <= LARDER_PROVIDER_PROVIDER_TYPES_ROLE_ASSISTANT || larder_bad(" is %d, which is not a role", *value);
}

bool larder_good_string_item(const void *text) { return larder_good_text("", text); }

bool larder_good_icon(const void *item) {
    const larder_icon *icon = item;
    if (icon->theme.is_some && icon->theme.val > LARDER_PROVIDER_PROVIDER_TYPES_THEME_DARK)
        return larder_bad(".theme is %d, which is not a theme", icon->theme.val);
    return larder_good_identifier(".src", &icon->src) && larder_good_option(".mime_type", &icon->mime_type) &&
           LARDER_EACH(".sizes", icon->sizes, larder_good_string_item);
}

static bool good_pair(const void *item) {
    const provider_tuple2_string_string_t *pair = item;
    return larder_good_text(".f0", &pair->f0) && larder_good_text(".f1", &pair->f1);
}

bool larder_good_metadata(const provider_list_tuple2_string_string_t *metadata) {
    return LARDER_EACH(".metadata", *metadata, good_pair);
}

bool larder_good_freshness(bool is_some, const larder_freshness *freshness) {
    bool good = !is_some || freshness->scope <= LARDER_PROVIDER_PROVIDER_TYPES_SCOPE_CALLER;
    return good || larder_bad("freshness.scope is %d, which is not a scope", freshness->scope);
}

static bool good_details(bool is_some, const larder_details *details) {
    if (!is_some) return true;
    return larder_within(larder_good_option(".kind", &details->kind) &&
                             LARDER_EACH(".audience", details->audience, larder_good_role) &&
                             larder_good_option(".last_modified", &details->last_modified) &&
                             LARDER_EACH(".icons", details->icons, larder_good_icon) &&
                             larder_good_metadata(&details->metadata),
                         ".details");
}

bool larder_good_entry(const void *item) {
    const larder_entry *entry = item;
    return larder_good_identifier(".uri", &entry->uri) && larder_good_identifier(".name", &entry->name) &&
           larder_good_option(".title", &entry->title) && larder_good_option(".description", &entry->description) &&
           larder_good_option(".mime_type", &entry->mime_type) && larder_good_option(".version", &entry->version) &&
           good_details(entry->details.is_some, &entry->details.val);
}

static bool good_template(const void *item) {
    const larder_template *one = item;
    return larder_good_identifier(".uri_template", &one->uri_template) && larder_good_identifier(".name", &one->name) &&
           larder_good_option(".title", &one->title) && larder_good_option(".description", &one->description) &&
           larder_good_option(".mime_type", &one->mime_type) && good_details(one->details.is_some, &one->details.val);
}

static bool good_content(const void *item) {
    const larder_content *content = item;
    return larder_good_option(".uri", &content->uri) && larder_good_option(".mime_type", &content->mime_type) &&
           larder_good_body(&content->body) && larder_good_metadata(&content->metadata);
}

static bool good_variable(const void *item) {
    const larder_variable_value *variable = item;
    return larder_good_text(".name", &variable->name) && larder_good_option(".key", &variable->key) &&
           larder_good_text(".value", &variable->value);
}

bool larder_result(const char *function, bool succeeded, bool good, larder_error *error) {
    if (succeeded && good) return true;
    if (succeeded) return larder_fail(error, LARDER_FAILED, "%s: %s", function, problem);
    if (error->tag > LARDER_FAILED) return larder_fail(error, LARDER_FAILED, "%s returned an unknown error", function);
    bool has_reason = error->tag >= LARDER_INVALID;
    if (has_reason && !larder_good_text("the error", &error->val.failed))
        return larder_fail(error, error->tag, "%s: %s", function, problem);
    return false;
}

// The functions that the bindings export.

// Gets the description and checks it.
static bool good_description(larder_description *about) {
    memset(about, 0, sizeof *about);
    larder_describe(about);
    return larder_good_option("title", &about->title) && larder_good_option("version", &about->version) &&
           larder_good_option("summary", &about->summary) &&
           larder_good_option("instructions", &about->instructions) &&
           LARDER_EACH("claims", about->claims, larder_good_string_item);
}

void exports_larder_provider_resource_provider_describe(larder_description *about) {
    if (good_description(about)) return;
    // An error is not possible: the list of templates returns it.
    larder_text summary = {0};
    larder_addf(&summary, "larder_describe failed: %s", problem);
    memset(about, 0, sizeof *about);
    about->summary = larder_some(summary.ptr);
}

bool exports_larder_provider_resource_provider_list_resources(larder_query *query, larder_entry_page *page,
                                                              larder_error *error) {
    memset(page, 0, sizeof *page);
    memset(error, 0, sizeof *error);
    bool done = larder_list(query, page, error);
    bool good = done && LARDER_EACH("entries", page->entries, larder_good_entry) &&
                larder_good_option("next_cursor", &page->next_cursor) &&
                larder_good_freshness(page->freshness.is_some, &page->freshness.val);
    return larder_result("larder_list", done, good, error);
}

bool exports_larder_provider_resource_provider_list_templates(provider_string_t *cursor, larder_template_page *page,
                                                              larder_error *error) {
    memset(page, 0, sizeof *page);
    memset(error, 0, sizeof *error);
    // `describe` cannot return an error. The next function that the host calls returns it, so that the host reports it.
    if (!cursor) {
        larder_description about;
        if (!good_description(&about)) return larder_fail(error, LARDER_FAILED, "larder_describe failed: %s", problem);
        exports_larder_provider_resource_provider_description_free(&about);
    }
    bool done = larder_templates(cursor, page, error);
    bool good = done && LARDER_EACH("templates", page->templates, good_template) &&
                larder_good_option("next_cursor", &page->next_cursor) &&
                larder_good_freshness(page->freshness.is_some, &page->freshness.val);
    return larder_result("larder_templates", done, good, error);
}

bool exports_larder_provider_resource_provider_match_uri(provider_string_t *uri, larder_match *match) {
    memset(match, 0, sizeof *match);
    if (!larder_match_uri(uri, match)) return false;
    bool good = larder_good_identifier("uri_template", &match->uri_template) &&
                LARDER_EACH("variables", match->variables, good_variable);
    // An error is not possible.
    if (!good) larder_log(LARDER_ERROR, "larder_match_uri: %s", problem);
    return good;
}

bool exports_larder_provider_resource_provider_read_resource(larder_request *request, larder_reading *reading,
                                                             larder_error *error) {
    memset(reading, 0, sizeof *reading);
    memset(error, 0, sizeof *error);
    bool done = larder_read(request, reading, error);
    bool good = done && LARDER_EACH("contents", reading->contents, good_content) &&
                larder_good_option("version", &reading->version) &&
                larder_good_freshness(reading->freshness.is_some, &reading->freshness.val);
    return larder_result("larder_read", done, good, error);
}
