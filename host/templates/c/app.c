/* @NAME@: a provider of greetings. Put your own resources in their place.
 *
 * What a function gets is its own: it frees it. What it gives back is freed by the bindings, with free(): so all
 * of that comes from malloc(), as provider_string_dup() does it. What is not set here is zero, which is "none".
 */

#include <stdlib.h>
#include <string.h>

#include "provider.h"

/* The names of the bindings are long; these are the ones that a provider meets all the time. */
typedef exports_larder_provider_resource_provider_description_t description_t;
typedef exports_larder_provider_resource_provider_list_query_t list_query_t;
typedef exports_larder_provider_resource_provider_entry_page_t entry_page_t;
typedef exports_larder_provider_resource_provider_template_page_t template_page_t;
typedef exports_larder_provider_resource_provider_template_match_t template_match_t;
typedef exports_larder_provider_resource_provider_read_request_t read_request_t;
typedef exports_larder_provider_resource_provider_reading_t reading_t;
typedef larder_provider_provider_types_entry_t entry_t;
typedef larder_provider_provider_types_template_t template_t;
typedef larder_provider_provider_types_content_t content_t;
typedef larder_provider_provider_types_error_t error_t;

/* The URIs are yours to choose; clients see them as they are written here. */
#define HELLO "@NAME@://hello"
#define HELLO_WHO "@NAME@://hello/{who}"

static bool is(const provider_string_t *text, const char *other) {
  return text->len == strlen(other) && memcmp(text->ptr, other, text->len) == 0;
}

static provider_option_string_t some(const char *text) {
  provider_option_string_t option = {.is_some = true};
  provider_string_dup(&option.val, text);
  return option;
}

void exports_larder_provider_resource_provider_describe(description_t *ret) {
  /* What people read in lists, and what a model is told about when to use this. */
  *ret = (description_t){.title = some("Greetings"), .summary = some("Says hello.")};
}

bool exports_larder_provider_resource_provider_list_resources(list_query_t *query, entry_page_t *ret,
                                                              error_t *err) {
  exports_larder_provider_resource_provider_list_query_free(query);
  /* What there is, sorted by URI. */
  entry_t *entry = calloc(1, sizeof *entry);
  provider_string_dup(&entry->uri, HELLO);
  provider_string_dup(&entry->name, "hello");
  entry->mime_type = some("text/plain");
  *ret = (entry_page_t){.entries = {.ptr = entry, .len = 1}};
  return true;
}

bool exports_larder_provider_resource_provider_list_templates(provider_string_t *cursor, template_page_t *ret,
                                                              error_t *err) {
  if (cursor) provider_string_free(cursor);
  /* Families of resources that are too many to list. */
  template_t *template = calloc(1, sizeof *template);
  provider_string_dup(&template->uri_template, HELLO_WHO);
  provider_string_dup(&template->name, "a greeting");
  template->mime_type = some("text/plain");
  *ret = (template_page_t){.templates = {.ptr = template, .len = 1}};
  return true;
}

bool exports_larder_provider_resource_provider_match_uri(provider_string_t *uri, template_match_t *ret) {
  provider_string_free(uri);
  return false;
}

/* "GREETING, WHO!" as the one content of a reading. */
static void greet(const provider_string_t *greeting, const provider_string_t *who, reading_t *ret) {
  size_t size = greeting->len + who->len + 4;
  uint8_t *text = malloc(size);
  memcpy(text, greeting->ptr, greeting->len);
  memcpy(text + greeting->len, ", ", 2);
  memcpy(text + greeting->len + 2, who->ptr, who->len);
  memcpy(text + greeting->len + 2 + who->len, "!\n", 2);
  content_t *content = calloc(1, sizeof *content);
  content->mime_type = some("text/plain");
  content->body.tag = LARDER_PROVIDER_PROVIDER_TYPES_BODY_TEXT;
  content->body.val.text = (provider_string_t){.ptr = text, .len = size};
  *ret = (reading_t){.contents = {.ptr = content, .len = 1}};
}

bool exports_larder_provider_resource_provider_read_resource(read_request_t *request, reading_t *ret,
                                                             error_t *err) {
  provider_string_t who = {0}, name, greeting;
  if (is(&request->uri, HELLO)) {
    provider_string_set(&who, "world");
  } else if (request->matched.is_some && is(&request->matched.val.uri_template, HELLO_WHO)) {
    /* The values of the variables, decoded; this template has one. */
    who = request->matched.val.variables.ptr[0].f1;
  } else {
    err->tag = LARDER_PROVIDER_PROVIDER_TYPES_ERROR_NOT_FOUND;
    exports_larder_provider_resource_provider_read_request_free(request);
    return false;
  }
  /* Settings stand in the operator's larder.toml: [provider.@NAME@] settings = { greeting = "Hi" } */
  provider_string_set(&name, "greeting");
  bool set = larder_provider_provider_host_setting(&name, &greeting);
  if (!set) provider_string_set(&greeting, "Hello");
  greet(&greeting, &who, ret);
  if (set) provider_string_free(&greeting);
  exports_larder_provider_resource_provider_read_request_free(request);
  return true;
}
