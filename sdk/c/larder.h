// Write a Larder resource provider in C: short names for what `larder bindings c` generates, and what one would write
// anyway for strings, lists, errors, settings, files and HTTP. Compile larder.c along with it.
//
// Who owns what: arguments of your functions are yours to free (the generated `…_free` functions do it), and what you
// answer has to come from malloc, since the host frees it. Everything below that returns a string copies it. What you
// are to fill holds anything at first: begin with zero, which is "none", as in `*answer = (larder_reading){0};`.
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

// The functions that a provider is: `bool larder_read(larder_request *request, larder_reading *answer, larder_error *error)`
// and so on. All but `describe` and `match` give true for an answer, and false for an error.
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

// Memory that is zero. Without any left it ends the guest, as there is nothing else to do.
void *larder_new(size_t count, size_t size);

// Copies. The `some` ones make an option; NULL is none.
provider_string_t larder_string(const char *text);
provider_string_t larder_bytes(const void *bytes, size_t length);
provider_option_string_t larder_some(const char *text);

bool larder_equal(const provider_string_t *string, const char *text);

// An error, and false. What is not UTF-8 in its text is replaced. `return larder_fail(error, LARDER_FAILED, "cannot read %s", path);`
bool larder_fail(larder_error *error, int kind, const char *format, ...) __attribute__((format(printf, 3, 4)));

// Writes a line into the host's log.
void larder_log(int level, const char *format, ...) __attribute__((format(printf, 2, 3)));

// A setting from the provider's own section of the configuration, or a copy of what holds without it.
char *larder_setting(const char *name, const char *otherwise);

// A variable of the template that the request's URI belongs to; NULL where there is none.
const provider_string_t *larder_variable(const larder_request *request, const char *name);

// A template whose last variable takes slashes as well, so that `file:///{path}` reads `file:///a/b/c`: claim it in
// `larder_describe`, and match it in `larder_match_uri`. Its expressions are plain ones: `{name}`.
void larder_claim(larder_description *about, const char *template);
bool larder_match_greedy(const char *template, const provider_string_t *uri, larder_match *match);

// Whether the caller already holds this version.
bool larder_known(const larder_request *request, const char *version);

// Bytes that grow. Begins as `larder_text text = {0};`, always ends with a zero that is not counted.
typedef struct {
    char *ptr;
    size_t len;
    size_t room;
} larder_text;

void larder_add(larder_text *text, const void *bytes, size_t length);
void larder_addf(larder_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
// As a JSON string, with its quotation marks.
void larder_add_json(larder_text *text, const void *bytes, size_t length);

// The answer to a read: one piece of text, which has to be UTF-8: see `larder_is_utf8`.
void larder_answer_text(larder_reading *answer, const char *text, size_t length, const char *mime, const char *version);

// Anything that is not UTF-8 where a string is wanted ends the guest.
bool larder_is_utf8(const void *bytes, size_t length);

// The whole of a file in a granted folder; false, with the reason in errno.
bool larder_read_file(const char *path, larder_text *into);

// Gets what a URL holds, through the host. A status other than success is the error that it means.
bool larder_get(const char *url, larder_text *into, larder_error *error);

#endif
