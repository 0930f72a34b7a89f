// What larder.h says.
#include "larder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *larder_new(size_t count, size_t size) {
    // Nothing is asked for with 0 bytes, but NULL would look like no memory.
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

provider_string_t larder_string(const char *text) { return larder_bytes(text, strlen(text)); }

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

static provider_string_t formatted(const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (length < 0) return larder_string("(a text that cannot be written)");
    provider_string_t text = {larder_new((size_t)length + 1, 1), (size_t)length};
    vsnprintf((char *)text.ptr, (size_t)length + 1, format, arguments);
    return text;
}

bool larder_fail(larder_error *error, int kind, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    error->tag = (uint8_t)kind;
    // All cases with a text have it in the same place.
    error->val.failed = formatted(format, arguments);
    va_end(arguments);
    return false;
}

void larder_log(int level, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    provider_string_t message = formatted(format, arguments);
    va_end(arguments);
    larder_provider_provider_host_log((uint8_t)level, &message);
    provider_string_free(&message);
}

char *larder_setting(const char *name, const char *otherwise) {
    provider_string_t asked = larder_string(name), value = {0};
    if (!larder_provider_provider_host_setting(&asked, &value)) value = larder_string(otherwise);
    provider_string_free(&asked);
    char *text = larder_new(value.len + 1, 1);
    memcpy(text, value.ptr, value.len);
    provider_string_free(&value);
    return text;
}

const provider_string_t *larder_variable(const larder_request *request, const char *name) {
    if (!request->matched.is_some) return NULL;
    const provider_list_tuple2_string_string_t *variables = &request->matched.val.variables;
    for (size_t at = 0; at < variables->len; at++)
        if (larder_equal(&variables->ptr[at].f0, name)) return &variables->ptr[at].f1;
    return NULL;
}

bool larder_known(const larder_request *request, const char *version) {
    return request->known_version.is_some && larder_equal(&request->known_version.val, version);
}

void larder_add(larder_text *text, const void *bytes, size_t length) {
    if (text->len + length + 1 > text->room) {
        text->room = (text->len + length + 1) * 2;
        text->ptr = realloc(text->ptr, text->room);
        if (!text->ptr) {
            fputs("out of memory\n", stderr);
            abort();
        }
    }
    if (length) memcpy(text->ptr + text->len, bytes, length);
    text->len += length;
    text->ptr[text->len] = 0;
}

void larder_addf(larder_text *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    provider_string_t added = formatted(format, arguments);
    va_end(arguments);
    larder_add(text, added.ptr, added.len);
    provider_string_free(&added);
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

// How many bytes follow this one; -1 if it begins nothing.
static int following(unsigned char first) {
    if (first < 0x80) return 0;
    if (first >= 0xc2 && first <= 0xdf) return 1;
    if ((first & 0xf0) == 0xe0) return 2;
    if (first >= 0xf0 && first <= 0xf4) return 3;
    return -1;
}

bool larder_is_utf8(const void *bytes, size_t length) {
    const unsigned char *from = bytes;
    for (size_t at = 0; at < length;) {
        unsigned char first = from[at];
        int more = following(first);
        if (more < 0 || at + (size_t)more >= length) return false;
        unsigned char second = more ? from[at + 1] : 0;
        // Too long a form, surrogates, and what lies beyond the last character.
        if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f)) return false;
        if ((first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f)) return false;
        for (int next = 1; next <= more; next++)
            if ((from[at + (size_t)next] & 0xc0) != 0x80) return false;
        at += (size_t)more + 1;
    }
    return true;
}

bool larder_read_file(const char *path, larder_text *into) {
    FILE *file = fopen(path, "rb");
    if (!file) return false;
    char piece[4096];
    size_t read;
    while ((read = fread(piece, 1, sizeof piece, file)) > 0) larder_add(into, piece, read);
    int trouble = ferror(file) ? errno : 0;
    fclose(file);
    if (trouble) {
        errno = trouble;
        return false;
    }
    larder_add(into, "", 0);
    return true;
}

static bool unreachable(larder_provider_http_client_failure_t *failure, larder_error *error) {
    bool told = failure->tag == LARDER_PROVIDER_HTTP_CLIENT_FAILURE_DENIED ||
                failure->tag == LARDER_PROVIDER_HTTP_CLIENT_FAILURE_UNREACHABLE;
    int length = told ? (int)failure->val.denied.len : 0;
    const char *why = told ? (const char *)failure->val.denied.ptr : "";
    switch (failure->tag) {
    case LARDER_PROVIDER_HTTP_CLIENT_FAILURE_DENIED:
        return larder_fail(error, LARDER_DENIED, "%.*s", length, why);
    case LARDER_PROVIDER_HTTP_CLIENT_FAILURE_UNREACHABLE:
        return larder_fail(error, LARDER_UNAVAILABLE, "%.*s", length, why);
    case LARDER_PROVIDER_HTTP_CLIENT_FAILURE_TIMED_OUT:
        return larder_fail(error, LARDER_UNAVAILABLE, "the other side did not answer in time");
    default:
        return larder_fail(error, LARDER_FAILED, "the answer is larger than the host accepts");
    }
}

static int meaning(int status) {
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
    bool answered = larder_provider_http_client_send(&request, &response, &failure);
    larder_provider_http_client_request_free(&request);
    if (!answered) {
        unreachable(&failure, error);
        larder_provider_http_client_failure_free(&failure);
        return false;
    }
    bool good = response.status >= 200 && response.status < 300;
    if (good) larder_add(into, response.body.ptr, response.body.len);
    else larder_fail(error, meaning(response.status), "the other side answered with status %d", response.status);
    larder_provider_http_client_response_free(&response);
    return good;
}
