// SDK for Larder providers in C: short names for the code that `larder bindings c` generates, and helper functions.
// Compile all files of this folder together with your provider. The header can also be included from C++.
//
// Memory: your functions own their arguments and may free them with the generated `…_free` functions. Results must be
// allocated with malloc, because the bindings free them after the call. All functions below that return a string return
// a copy. Results are set to zero before your function is called, which means "none" and "empty".
//
// What your functions return is checked (larder_check.c). A NULL pointer or a string that is not UTF-8 is an error that
// names the field, as in "larder_list: entries[1].uri is not UTF-8".
#ifndef LARDER_H
#define LARDER_H

#include <stdarg.h>

#include "provider.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef larder_provider_provider_types_entry_t larder_entry;
typedef larder_provider_provider_types_template_t larder_template;
typedef larder_provider_provider_types_details_t larder_details;
typedef larder_provider_provider_types_icon_t larder_icon;
typedef larder_provider_provider_types_content_t larder_content;
typedef larder_provider_provider_types_error_t larder_error;
typedef larder_provider_provider_types_freshness_t larder_freshness;
typedef exports_larder_provider_resource_provider_description_t larder_description;
typedef exports_larder_provider_resource_provider_list_query_t larder_query;
typedef exports_larder_provider_resource_provider_entry_page_t larder_entry_page;
typedef exports_larder_provider_resource_provider_template_page_t larder_template_page;
typedef exports_larder_provider_resource_provider_template_match_t larder_match;
typedef exports_larder_provider_resource_provider_variable_t larder_variable_value;
typedef exports_larder_provider_resource_provider_read_request_t larder_request;
typedef exports_larder_provider_resource_provider_reading_t larder_reading;

// The functions that a provider implements. All except `larder_describe` and `larder_match_uri` return true for success
// and false for an error, which `larder_fail` sets. `cursor` is NULL for the first page.
void larder_describe(larder_description *about);
bool larder_list(larder_query *query, larder_entry_page *page, larder_error *error);
bool larder_templates(provider_string_t *cursor, larder_template_page *page, larder_error *error);
bool larder_match_uri(provider_string_t *uri, larder_match *match);
bool larder_read(larder_request *request, larder_reading *reading, larder_error *error);

// Each of the following interfaces is optional: the functions are needed after `larder bindings c --with NAME`.

#ifdef LARDER_WITH_COMPLETIONS
typedef exports_larder_provider_completion_provider_completion_request_t larder_completion_request;
typedef exports_larder_provider_completion_provider_completion_t larder_completion;
bool larder_complete(larder_completion_request *request, larder_completion *completion, larder_error *error);
#endif

#ifdef LARDER_WITH_VERSIONS
bool larder_versions(provider_list_string_t *uris, provider_list_option_string_t *versions, larder_error *error);
#endif

#ifdef LARDER_WITH_SEARCH
typedef exports_larder_provider_search_provider_search_query_t larder_search_query;
typedef exports_larder_provider_search_provider_hit_t larder_hit;
typedef exports_larder_provider_search_provider_hits_t larder_hits;
bool larder_search(larder_search_query *query, larder_hits *found, larder_error *error);
#endif

enum {
    LARDER_NOT_FOUND = LARDER_PROVIDER_PROVIDER_TYPES_ERROR_NOT_FOUND,
    LARDER_NOT_MODIFIED = LARDER_PROVIDER_PROVIDER_TYPES_ERROR_NOT_MODIFIED,
    LARDER_INVALID = LARDER_PROVIDER_PROVIDER_TYPES_ERROR_INVALID,
    LARDER_DENIED = LARDER_PROVIDER_PROVIDER_TYPES_ERROR_DENIED,
    LARDER_UNAVAILABLE = LARDER_PROVIDER_PROVIDER_TYPES_ERROR_UNAVAILABLE,
    LARDER_FAILED = LARDER_PROVIDER_PROVIDER_TYPES_ERROR_FAILED,
};

enum { LARDER_DEBUG, LARDER_INFO, LARDER_WARN, LARDER_ERROR };

// Allocates zeroed memory. Aborts if there is not enough memory.
void *larder_new(size_t count, size_t size);

// Copy a string. `larder_some` returns an option, which is none for NULL.
provider_string_t larder_string(const char *text);
provider_string_t larder_bytes(const void *bytes, size_t length);
provider_option_string_t larder_some(const char *text);

bool larder_equal(const provider_string_t *string, const char *text);

// Sets an error and returns false, as in `return larder_fail(error, LARDER_FAILED, "cannot read %s", path);`. Invalid
// UTF-8 in the text is replaced.
bool larder_fail(larder_error *error, int kind, const char *format, ...) __attribute__((format(printf, 3, 4)));

// Writes a message to the host's log.
void larder_log(int level, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Returns how many milliseconds this call may still take.
#define larder_time_left larder_provider_provider_host_time_left_ms

// Returns a setting from the provider's section of the configuration, or a copy of the default value, which may be NULL.
char *larder_setting(const char *name, const char *default_value);

// Returns the value of a variable of the template that matches the request's URI, or NULL: of a list, the first item.
const provider_string_t *larder_variable(const larder_request *request, const char *name);

// Adds an entry to one page of a list that is sorted by URI, if it follows the query's cursor and matches its hints;
// otherwise frees it. Returns false when the page is full: end `larder_list` there. The cursor is the last URI of the
// previous page. Each page is a call of its own, so begin a long list at the entry after `query->cursor`, if it is some.
bool larder_add_entry(const larder_query *query, larder_entry_page *page, larder_entry entry);

// Functions for templates whose last variable also matches slashes, so that `file:///{path}` matches `file:///a/b/c`.
// Call `larder_claim` in `larder_describe`, and `larder_match_greedy` in `larder_match_uri`. Only simple expressions
// such as `{name}` are supported.
void larder_claim(larder_description *about, const char *uri_template);
bool larder_match_greedy(const char *uri_template, const provider_string_t *uri, larder_match *match);

// Returns whether the caller already knows this version.
bool larder_known(const larder_request *request, const char *version);

// A growable byte buffer. Initialize it with `larder_text text = {0};`. It always ends with a zero byte that is not
// part of `len`.
typedef struct {
    char *ptr;
    size_t len;
    size_t capacity;
} larder_text;

void larder_add(larder_text *text, const void *bytes, size_t length);
void larder_addf(larder_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void larder_addv(larder_text *text, const char *format, va_list arguments);
// Appends a JSON string with its quotation marks.
void larder_add_json(larder_text *text, const void *bytes, size_t length);

// Sets the result of a read to a single text, which must be UTF-8; see `larder_is_utf8`.
void larder_answer_text(larder_reading *answer, const char *text, size_t length, const char *mime, const char *version);

// Returns whether bytes are valid UTF-8.
bool larder_is_utf8(const void *bytes, size_t length);

// Reads a file in a granted folder. On failure, returns false and sets errno.
bool larder_read_file(const char *path, larder_text *into);

// Sends a GET request through the host. A status other than success sets the corresponding error.
// `larder_provider_http_client_send_all` sends several requests at once.
bool larder_get(const char *url, larder_text *into, larder_error *error);

#ifdef LARDER_NATIVE
// For tests: `-DLARDER_NATIVE` compiles a provider, this SDK and the bindings for the machine itself, as a program whose
// `main` is the test. Settings come from LARDER_SETTING_NAME in the environment, the log goes to stderr, and files have
// their own paths. There is no caller, and nothing can be stored.

// Reads a resource as a server does, which also finds the template, if any, and the values of its variables: names and
// values, with NULL at the end. Returns the first content, or NULL and the kind of the error, such as LARDER_NOT_FOUND.
char *larder_test_read(const char *uri, const char *uri_template, const char *const *variables, int *error);

// Sets the response to all HTTP requests. Without it, they fail.
void larder_test_respond(int status, const char *body);
#endif

#ifdef __cplusplus
}
#endif

#endif
