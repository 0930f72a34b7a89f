// SDK for Larder resource providers in C: short names for the code that `larder bindings c` generates, and helper
// functions for strings, lists, errors, settings, files and HTTP. Compile larder.c together with your provider.
//
// Memory: your functions own their arguments and may free them with the generated `…_free` functions. Results must be
// allocated with malloc, because the bindings free them after the call. All functions below that return a string return
// a copy. Output parameters are not initialized: set them to zero first, which means "none", as in
// `*reading = (larder_reading){0};`.
#ifndef LARDER_H
#define LARDER_H

#include <stdarg.h>

#include "provider.h"

typedef larder_provider_provider_types_entry_t larder_entry;
typedef larder_provider_provider_types_template_t larder_template;
typedef larder_provider_provider_types_details_t larder_details;
typedef larder_provider_provider_types_content_t larder_content;
typedef larder_provider_provider_types_error_t larder_error;
typedef larder_provider_provider_types_freshness_t larder_freshness;
typedef exports_larder_provider_resource_provider_description_t larder_description;
typedef exports_larder_provider_resource_provider_list_query_t larder_query;
typedef exports_larder_provider_resource_provider_entry_page_t larder_entry_page;
typedef exports_larder_provider_resource_provider_template_page_t larder_template_page;
typedef exports_larder_provider_resource_provider_template_match_t larder_match;
typedef exports_larder_provider_resource_provider_read_request_t larder_request;
typedef exports_larder_provider_resource_provider_reading_t larder_reading;

// The functions that a provider implements, such as
// `bool larder_read(larder_request *request, larder_reading *reading, larder_error *error)`. All except
// `larder_describe` and `larder_match_uri` return true for success and false for an error.
#define larder_describe exports_larder_provider_resource_provider_describe
#define larder_list exports_larder_provider_resource_provider_list_resources
#define larder_templates exports_larder_provider_resource_provider_list_templates
#define larder_match_uri exports_larder_provider_resource_provider_match_uri
#define larder_read exports_larder_provider_resource_provider_read_resource
#define larder_complete exports_larder_provider_completion_provider_complete
#define larder_versions exports_larder_provider_version_provider_versions

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

// Returns a setting from the provider's section of the configuration, or a copy of the default value.
char *larder_setting(const char *name, const char *default_value);

// Returns a variable of the template that matches the request's URI, or NULL.
const provider_string_t *larder_variable(const larder_request *request, const char *name);

// Functions for templates whose last variable also matches slashes, so that `file:///{path}` matches `file:///a/b/c`.
// Call `larder_claim` in `larder_describe`, and `larder_match_greedy` in `larder_match_uri`. Only simple expressions
// such as `{name}` are supported.
void larder_claim(larder_description *about, const char *template);
bool larder_match_greedy(const char *template, const provider_string_t *uri, larder_match *match);

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
// Appends a JSON string with its quotation marks.
void larder_add_json(larder_text *text, const void *bytes, size_t length);

// Sets the result of a read to a single text, which must be UTF-8; see `larder_is_utf8`.
void larder_answer_text(larder_reading *answer, const char *text, size_t length, const char *mime, const char *version);

// Returns whether bytes are valid UTF-8. Passing other bytes to the host as a string is a trap.
bool larder_is_utf8(const void *bytes, size_t length);

// Reads a file in a granted folder. On failure, returns false and sets errno.
bool larder_read_file(const char *path, larder_text *into);

// Sends a GET request through the host. A status other than success sets the corresponding error.
bool larder_get(const char *url, larder_text *into, larder_error *error);

#endif
