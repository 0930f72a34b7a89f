// Implementation of larder.h.
#include "larder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *larder_new(size_t count, size_t size) {
    // calloc with size 0 may return NULL, which would look like a failed allocation.
    void *memory = calloc(count ? count : 1, size ? size : 1);
    if (!memory) {
        fputs("out of memory\n", stderr);
        abort();
    }
    return memory;
}

provider_string_t larder_bytes(const void *bytes, size_t length) {
    provider_string_t copy = {larder_new(length, 1), length};
    if (length) memcpy(copy.ptr, bytes, length);
    return copy;
}

provider_string_t larder_string(const char *text) { return larder_bytes(text, text ? strlen(text) : 0); }

provider_option_string_t larder_some(const char *text) {
    provider_option_string_t option = {0};
    if (text) {
        option.is_some = true;
        option.val = larder_string(text);
    }
    return option;
}

bool larder_equal(const provider_string_t *string, const char *text) {
    return string->len == strlen(text) && memcmp(string->ptr, text, string->len) == 0;
}

static provider_string_t format_text(const char *format, va_list arguments) {
    va_list copy;
    va_copy(copy, arguments);
    int length = vsnprintf(NULL, 0, format, copy);
    va_end(copy);
    if (length < 0) return larder_string("(invalid format)");
    provider_string_t text = {larder_new((size_t)length + 1, 1), (size_t)length};
    vsnprintf((char *)text.ptr, (size_t)length + 1, format, arguments);
    return text;
}

// The number of continuation bytes after the first byte of a character, or -1 for an invalid first byte.
static int continuation_bytes(unsigned char first) {
    if (first < 0x80) return 0;
    if (first >= 0xc2 && first <= 0xdf) return 1;
    if ((first & 0xf0) == 0xe0) return 2;
    if (first >= 0xf0 && first <= 0xf4) return 3;
    return -1;
}

// The length of the UTF-8 character at the start of these bytes, or 0 if it is invalid.
static size_t character_length(const unsigned char *from, size_t length) {
    unsigned char first = from[0];
    int more = continuation_bytes(first);
    if (more < 0 || (size_t)more >= length) return 0;
    unsigned char second = more ? from[1] : 0;
    // Overlong encodings, surrogates, and code points beyond U+10FFFF.
    if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f)) return 0;
    if ((first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f)) return 0;
    for (int next = 1; next <= more; next++)
        if ((from[next] & 0xc0) != 0x80) return 0;
    return (size_t)more + 1;
}

bool larder_is_utf8(const void *bytes, size_t length) {
    const unsigned char *from = bytes;
    for (size_t at = 0, size; at < length; at += size)
        if (!(size = character_length(from + at, length - at))) return false;
    return true;
}

// Formats a message and replaces invalid UTF-8, which would be a trap.
static provider_string_t format_message(const char *format, va_list arguments) {
    provider_string_t text = format_text(format, arguments);
    for (size_t at = 0, size; at < text.len; at += size) {
        size = character_length(text.ptr + at, text.len - at);
        if (!size) text.ptr[at] = '?', size = 1;
    }
    return text;
}

bool larder_fail(larder_error *error, int kind, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    error->tag = (uint8_t)kind;
    // All error cases with a text have it at the same offset.
    error->val.failed = format_message(format, arguments);
    va_end(arguments);
    return false;
}

void larder_log(int level, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    provider_string_t message = format_message(format, arguments);
    va_end(arguments);
    larder_provider_provider_host_log((uint8_t)level, &message);
    provider_string_free(&message);
}

char *larder_setting(const char *name, const char *default_value) {
    provider_string_t key = larder_string(name), value = {0};
    bool found = larder_provider_provider_host_setting(&key, &value);
    provider_string_free(&key);
    if (!found && !default_value) return NULL;
    if (!found) value = larder_string(default_value);
    char *text = larder_new(value.len + 1, 1);
    if (value.len) memcpy(text, value.ptr, value.len);
    provider_string_free(&value);
    return text;
}

const provider_string_t *larder_variable(const larder_request *request, const char *name) {
    if (!request->matched.is_some) return NULL;
    const larder_match *match = &request->matched.val;
    for (size_t at = 0; at < match->variables.len; at++)
        if (larder_equal(&match->variables.ptr[at].name, name)) return &match->variables.ptr[at].value;
    return NULL;
}

bool larder_known(const larder_request *request, const char *version) {
    return request->known_version.is_some && larder_equal(&request->known_version.val, version);
}

void larder_claim(larder_description *about, const char *uri_template) {
    size_t length = strcspn(uri_template, "{"), known = about->claims.len;
    provider_string_t *claims = larder_new(known + 1, sizeof *claims);
    if (known) memcpy(claims, about->claims.ptr, known * sizeof *claims);
    free(about->claims.ptr);
    claims[known] = larder_bytes(uri_template, length);
    about->claims.ptr = claims;
    about->claims.len = known + 1;
}

// The value of a hexadecimal digit, or -1.
static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static provider_string_t percent_decode(const char *from, size_t length) {
    provider_string_t text = larder_bytes(from, length);
    size_t decoded = 0;
    for (size_t at = 0; at < length; at++) {
        bool escaped =
            from[at] == '%' && length - at > 2 && hex_digit(from[at + 1]) >= 0 && hex_digit(from[at + 2]) >= 0;
        text.ptr[decoded++] =
            escaped ? (uint8_t)(hex_digit(from[at + 1]) << 4 | hex_digit(from[at + 2])) : (uint8_t)from[at];
        if (escaped) at += 2;
    }
    text.len = decoded;
    return text;
}

// Matches the rest of a template, which begins with a variable, as in `{a}/{b}`. Stores names and values in `found`.
static bool match_variables(const char *uri_template, const char *rest, size_t length, larder_variable_value *found) {
    const char *name = uri_template + 1, *end = strchr(uri_template, '}');
    if (!end || end == name || strpbrk(name, "+#./;?&,*:") == name) return false;
    if (memchr(name, ',', (size_t)(end - name)) || memchr(name, '*', (size_t)(end - name))) return false;
    size_t literal = strcspn(end + 1, "{"), longest = length;
    bool last = end[1 + literal] == 0;
    // The last variable matches the rest. Every other variable matches as much as possible, but no slash.
    if (last) longest = length >= literal ? length - literal : 0;
    else if (length && memchr(rest, '/', length)) longest = (size_t)((const char *)memchr(rest, '/', length) - rest);
    for (size_t size = longest; size > 0; size -= 1) {
        const char *remaining = rest + size;
        size_t remaining_length = length - size;
        bool matches = remaining_length >= literal && memcmp(remaining, end + 1, literal) == 0;
        if (matches && !last)
            matches =
                match_variables(end + 1 + literal, remaining + literal, remaining_length - literal, found + 1);
        if (matches) {
            found->name = larder_bytes(name, (size_t)(end - name));
            found->value = percent_decode(rest, size);
            return true;
        }
        if (last) break;
    }
    return false;
}

// Whether a string follows another one in the order of their bytes, as lists are sorted.
static bool follows(const provider_string_t *text, const provider_string_t *other) {
    size_t common = text->len < other->len ? text->len : other->len;
    int order = common ? memcmp(text->ptr, other->ptr, common) : 0;
    return order > 0 || (order == 0 && text->len > other->len);
}

static bool begins_with(const provider_string_t *text, const provider_string_t *prefix) {
    return text->len >= prefix->len && (!prefix->len || memcmp(text->ptr, prefix->ptr, prefix->len) == 0);
}

static bool is_wanted(const larder_query *query, const larder_entry *entry) {
    if (query->cursor.is_some && !follows(&entry->uri, &query->cursor.val)) return false;
    if (query->uri_prefix.is_some && !begins_with(&entry->uri, &query->uri_prefix.val)) return false;
    if (!query->kind.is_some) return true;
    const provider_option_string_t *kind = entry->details.is_some ? &entry->details.val.kind : NULL;
    return kind && kind->is_some && kind->val.len == query->kind.val.len && begins_with(&kind->val, &query->kind.val);
}

bool larder_add_entry(const larder_query *query, larder_entry_page *page, larder_entry entry) {
    size_t count = page->entries.len, limit = query->limit ? query->limit : 1;
    if (!is_wanted(query, &entry)) {
        larder_provider_provider_types_entry_free(&entry);
        return true;
    }
    if (count >= limit) {
        const provider_string_t *last = &page->entries.ptr[count - 1].uri;
        page->next_cursor = (provider_option_string_t){.is_some = true, .val = larder_bytes(last->ptr, last->len)};
        larder_provider_provider_types_entry_free(&entry);
        return false;
    }
    // The space is doubled whenever it is full.
    if ((count & (count - 1)) == 0) {
        size_t capacity = count ? count * 2 : 1;
        larder_entry *entries = larder_new(capacity, sizeof *entries);
        if (count) memcpy(entries, page->entries.ptr, count * sizeof *entries);
        free(page->entries.ptr);
        page->entries.ptr = entries;
    }
    page->entries.ptr[page->entries.len++] = entry;
    return true;
}

bool larder_match_greedy(const char *uri_template, const provider_string_t *uri, larder_match *match) {
    size_t before = strcspn(uri_template, "{"), variables = 0;
    if (uri->len < before || memcmp(uri->ptr, uri_template, before) != 0) return false;
    for (const char *at = uri_template; (at = strchr(at, '{')); at++) variables++;
    if (!variables) return false;
    match->variables.ptr = larder_new(variables, sizeof *match->variables.ptr);
    match->variables.len = variables;
    match->uri_template = larder_string(uri_template);
    bool matches =
        match_variables(uri_template + before, (const char *)uri->ptr + before, uri->len - before, match->variables.ptr);
    for (size_t at = 0; matches && at < variables; at++)
        matches = larder_is_utf8(match->variables.ptr[at].value.ptr, match->variables.ptr[at].value.len);
    if (!matches) exports_larder_provider_resource_provider_template_match_free(match);
    return matches;
}

void larder_add(larder_text *text, const void *bytes, size_t length) {
    if (text->len + length + 1 > text->capacity) {
        text->capacity = (text->len + length + 1) * 2;
        text->ptr = realloc(text->ptr, text->capacity);
        if (!text->ptr) {
            fputs("out of memory\n", stderr);
            abort();
        }
    }
    if (length) memcpy(text->ptr + text->len, bytes, length);
    text->len += length;
    text->ptr[text->len] = 0;
}

void larder_addv(larder_text *text, const char *format, va_list arguments) {
    provider_string_t added = format_text(format, arguments);
    larder_add(text, added.ptr, added.len);
    provider_string_free(&added);
}

void larder_addf(larder_text *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    larder_addv(text, format, arguments);
    va_end(arguments);
}

void larder_add_json(larder_text *text, const void *bytes, size_t length) {
    const unsigned char *from = bytes;
    larder_add(text, "\"", 1);
    for (size_t at = 0; at < length; at++) {
        if (from[at] == '"' || from[at] == '\\')
            larder_addf(text, "\\%c", from[at]);
        else if (from[at] < 0x20)
            larder_addf(text, "\\u%04x", from[at]);
        else
            larder_add(text, from + at, 1);
    }
    larder_add(text, "\"", 1);
}

void larder_answer_text(larder_reading *answer, const char *text, size_t length, const char *mime, const char *version) {
    larder_content *content = larder_new(1, sizeof *content);
    content->mime_type = larder_some(mime);
    content->body.tag = LARDER_PROVIDER_PROVIDER_TYPES_BODY_TEXT;
    content->body.val.text = larder_bytes(text, length);
    answer->contents.ptr = content;
    answer->contents.len = 1;
    answer->version = larder_some(version);
    answer->freshness.is_some = false;
}

bool larder_read_file(const char *path, larder_text *into) {
    FILE *file = fopen(path, "rb");
    if (!file) return false;
    char chunk[4096];
    size_t read;
    while ((read = fread(chunk, 1, sizeof chunk, file)) > 0) larder_add(into, chunk, read);
    int code = ferror(file) ? errno : 0;
    fclose(file);
    if (code) {
        errno = code;
        return false;
    }
    larder_add(into, "", 0);
    return true;
}

static bool convert_failure(larder_provider_http_client_failure_t *failure, larder_error *error) {
    bool has_reason = failure->tag == LARDER_PROVIDER_HTTP_CLIENT_FAILURE_DENIED ||
                      failure->tag == LARDER_PROVIDER_HTTP_CLIENT_FAILURE_UNREACHABLE;
    int length = has_reason ? (int)failure->val.denied.len : 0;
    const char *reason = has_reason ? (const char *)failure->val.denied.ptr : "";
    switch (failure->tag) {
    case LARDER_PROVIDER_HTTP_CLIENT_FAILURE_DENIED:
        return larder_fail(error, LARDER_DENIED, "%.*s", length, reason);
    case LARDER_PROVIDER_HTTP_CLIENT_FAILURE_UNREACHABLE:
        return larder_fail(error, LARDER_UNAVAILABLE, "%.*s", length, reason);
    case LARDER_PROVIDER_HTTP_CLIENT_FAILURE_TIMED_OUT:
        return larder_fail(error, LARDER_UNAVAILABLE, "the remote server did not respond in time");
    default:
        return larder_fail(error, LARDER_FAILED, "the response is larger than the host allows");
    }
}

static int error_kind(int status) {
    if (status == 304) return LARDER_NOT_MODIFIED;
    if (status == 404 || status == 410) return LARDER_NOT_FOUND;
    if (status == 401 || status == 403) return LARDER_DENIED;
    if (status == 408 || status == 425 || status == 429 || status >= 500) return LARDER_UNAVAILABLE;
    return LARDER_FAILED;
}

bool larder_get(const char *url, larder_text *into, larder_error *error) {
    larder_provider_http_client_request_t request = {.method = larder_string("GET"), .url = larder_string(url)};
    larder_provider_http_client_response_t response;
    larder_provider_http_client_failure_t failure;
    bool received = larder_provider_http_client_send(&request, &response, &failure);
    larder_provider_http_client_request_free(&request);
    if (!received) {
        convert_failure(&failure, error);
        larder_provider_http_client_failure_free(&failure);
        return false;
    }
    bool success = response.status >= 200 && response.status < 300;
    if (success) larder_add(into, response.body.ptr, response.body.len);
    else larder_fail(error, error_kind(response.status), "the remote server responded with status %d", response.status);
    larder_provider_http_client_response_free(&response);
    return success;
}

#ifdef LARDER_NATIVE
// The host of native tests: the imports of the bindings, with values in the form of the canonical ABI.

#define WORD sizeof(void *)

static int test_status;
static const char *test_body = "";

static void put_word(uint8_t *to, uintptr_t value) { memcpy(to, &value, sizeof value); }

static void put_text(uint8_t *to, const char *text) {
    provider_string_t copy = larder_string(text);
    put_word(to, (uintptr_t)copy.ptr);
    put_word(to + WORD, copy.len);
}

static void put_failure(uint8_t *to, uint8_t kind, const char *reason) {
    to[0] = 1;
    to[WORD] = kind;
    put_text(to + 2 * WORD, reason);
}

static void put_response(uint8_t *to) {
    const uint16_t status = (uint16_t)test_status;
    if (!status) {
        put_failure(to, LARDER_PROVIDER_HTTP_CLIENT_FAILURE_UNREACHABLE, "HTTP is available only in a host");
        return;
    }
    to[0] = 0;
    memcpy(to + WORD, &status, sizeof status);
    put_word(to + 2 * WORD, (uintptr_t)larder_new(1, 1));
    put_word(to + 3 * WORD, 0);
    put_text(to + 4 * WORD, test_body);
}

#define IMPORT(interface, name) __wasm_import_larder_provider_##interface##_##name

void __component_type_object_force_link_provider(void) {}

void IMPORT(provider_host, get_caller)(uint8_t *to) { to[0] = 0; }

void IMPORT(provider_host, request_metadata)(uint8_t *to) {
    put_word(to, (uintptr_t)larder_new(1, 1));
    put_word(to + WORD, 0);
}

void IMPORT(provider_host, setting)(uint8_t *name, size_t length, uint8_t *to) {
    larder_text variable = {0};
    larder_addf(&variable, "LARDER_SETTING_%.*s", (int)length, (const char *)name);
    for (char *at = variable.ptr; *at; at++) {
        if (*at >= 'a' && *at <= 'z') *at = (char)(*at - 'a' + 'A');
        if (*at == '-') *at = '_';
    }
    const char *value = getenv(variable.ptr);
    to[0] = value != NULL;
    if (value) put_text(to + WORD, value);
    free(variable.ptr);
}

void IMPORT(provider_host, log)(int32_t level, uint8_t *message, size_t length) {
    static const char *const names[] = {"debug", "info", "warn", "error"};
    fprintf(stderr, "%s: %.*s\n", names[level & 3], (int)length, (const char *)message);
}

void IMPORT(provider_host, resource_updated)(uint8_t *uri, size_t length) { (void)uri, (void)length; }
void IMPORT(provider_host, resources_changed)(void) {}
void IMPORT(provider_host, progress)(double done, int32_t has_total, double total, int32_t has_message,
                                     uint8_t *message, size_t length) {
    (void)done, (void)has_total, (void)total, (void)has_message, (void)message, (void)length;
}
int32_t IMPORT(provider_host, cancelled)(void) { return 0; }
int64_t IMPORT(provider_host, time_left_ms)(void) { return INT64_MAX; }

int32_t IMPORT(interaction_host, client_supports)(uint8_t *name, size_t length) { return (void)name, (void)length, 1; }
void IMPORT(interaction_host, client_log_level)(uint8_t *to) { to[0] = 0; }
void IMPORT(interaction_host, log_to_client)(int32_t severity, int32_t has_logger, uint8_t *logger, size_t logger_length,
                                             uint8_t *data, size_t length) {
    (void)severity, (void)has_logger, (void)logger, (void)logger_length;
    fprintf(stderr, "to the client: %.*s\n", (int)length, (const char *)data);
}
void IMPORT(interaction_host, tools_changed)(void) {}
void IMPORT(interaction_host, prompts_changed)(void) {}

void IMPORT(http_client, send)(uint8_t *method, size_t method_length, uint8_t *url, size_t url_length, uint8_t *headers,
                               size_t count, uint8_t *body, size_t body_length, int32_t has_timeout, int64_t timeout,
                               uint8_t *to) {
    (void)method, (void)method_length, (void)url, (void)url_length, (void)headers, (void)count;
    (void)body, (void)body_length, (void)has_timeout, (void)timeout;
    put_response(to);
}

void IMPORT(http_client, send_all)(uint8_t *requests, size_t count, uint8_t *to) {
    (void)requests;
    uint8_t *results = larder_new(count, 6 * WORD);
    for (size_t at = 0; at < count; at++) put_response(results + at * 6 * WORD);
    put_word(to, (uintptr_t)results);
    put_word(to + WORD, count);
}

static void not_stored(uint8_t *to) {
    put_failure(to, LARDER_PROVIDER_KEY_VALUE_FAILURE_UNAVAILABLE, "values are stored only in a host");
}
void IMPORT(key_value, get)(int32_t bucket, uint8_t *key, size_t length, uint8_t *to) {
    (void)bucket, (void)key, (void)length;
    not_stored(to);
}
void IMPORT(key_value, set)(int32_t bucket, uint8_t *key, size_t length, uint8_t *value, size_t size, uint8_t *to) {
    (void)bucket, (void)key, (void)length, (void)value, (void)size;
    not_stored(to);
}
void IMPORT(key_value, delete)(int32_t bucket, uint8_t *key, size_t length, uint8_t *to) {
    (void)bucket, (void)key, (void)length;
    not_stored(to);
}
void IMPORT(key_value, compare_and_swap)(int32_t bucket, uint8_t *key, size_t length, int32_t is_expected,
                                         uint8_t *expected, size_t expected_size, int32_t is_set, uint8_t *value,
                                         size_t size, uint8_t *to) {
    (void)bucket, (void)key, (void)length, (void)is_expected, (void)expected, (void)expected_size;
    (void)is_set, (void)value, (void)size;
    not_stored(to);
}
void IMPORT(key_value, list_keys)(int32_t bucket, uint8_t *prefix, size_t length, int32_t is_after, uint8_t *cursor,
                                  size_t cursor_length, int32_t limit, uint8_t *to) {
    (void)bucket, (void)prefix, (void)length, (void)is_after, (void)cursor, (void)cursor_length, (void)limit;
    not_stored(to);
}

void larder_test_respond(int status, const char *body) {
    test_status = status;
    test_body = body;
}

static void match_for_test(larder_request *request, const char *uri_template, const char *const *variables) {
    size_t count = 0;
    while (variables && variables[2 * count]) count++;
    larder_match *match = &request->matched.val;
    request->matched.is_some = true;
    match->uri_template = larder_string(uri_template);
    match->variables.ptr = larder_new(count, sizeof *match->variables.ptr);
    match->variables.len = count;
    for (size_t at = 0; at < count; at++) {
        match->variables.ptr[at].name = larder_string(variables[2 * at]);
        match->variables.ptr[at].value = larder_string(variables[2 * at + 1]);
    }
}

char *larder_test_read(const char *uri, const char *uri_template, const char *const *variables, int *error) {
    larder_request request = {.uri = larder_string(uri)};
    if (uri_template) match_for_test(&request, uri_template, variables);
    larder_reading reading = {0};
    larder_error failure = {0};
    if (!exports_larder_provider_resource_provider_read_resource(&request, &reading, &failure)) {
        if (failure.tag != LARDER_NOT_FOUND && failure.tag != LARDER_NOT_MODIFIED)
            fprintf(stderr, "%s: %.*s\n", uri, (int)failure.val.failed.len, (const char *)failure.val.failed.ptr);
        if (error) *error = failure.tag;
        return NULL;
    }
    larder_text content = {0};
    if (reading.contents.len) {
        const provider_string_t *body = &reading.contents.ptr[0].body.val.text;
        larder_add(&content, body->ptr, body->len);
    }
    exports_larder_provider_resource_provider_reading_free(&reading);
    return content.ptr ? content.ptr : larder_new(1, 1);
}
#endif
