/* @NAME@: a provider of greetings. Put your own resources in their place.
 *
 * What a function gets is its own. What it gives back comes from malloc(), as the functions of larder.h do it, and is
 * freed by the bindings. Each call has a guest of its own, so what is forgotten is gone after it. What a function is to
 * fill holds anything at first: it begins with zero, which is "none".
 */

#include <stdlib.h>

#include "larder.h"

/* The URIs are yours to choose; clients see them as they are written here. */
#define HELLO "@NAME@://hello"
#define HELLO_WHO "@NAME@://hello/{who}"

void larder_describe(larder_description *about) {
  /* What people read in lists, and what a model is told about when to use this. */
  *about = (larder_description){.title = larder_some("Greetings"), .summary = larder_some("Says hello.")};
}

bool larder_list(larder_query *query, larder_entry_page *page, larder_error *error) {
  /* What there is, sorted by URI. */
  larder_entry *entry = larder_new(1, sizeof *entry);
  entry->uri = larder_string(HELLO);
  entry->name = larder_string("hello");
  entry->mime_type = larder_some("text/plain");
  *page = (larder_entry_page){.entries = {.ptr = entry, .len = 1}};
  return true;
}

bool larder_templates(provider_string_t *cursor, larder_template_page *page, larder_error *error) {
  /* Families of resources that are too many to list. */
  larder_template *template = larder_new(1, sizeof *template);
  template->uri_template = larder_string(HELLO_WHO);
  template->name = larder_string("a greeting");
  template->mime_type = larder_some("text/plain");
  *page = (larder_template_page){.templates = {.ptr = template, .len = 1}};
  return true;
}

bool larder_match_uri(provider_string_t *uri, larder_match *match) {
  /* Asked only of providers that claim prefixes. */
  return false;
}

bool larder_read(larder_request *request, larder_reading *answer, larder_error *error) {
  provider_string_t world = larder_string("world");
  const provider_string_t *who = &world;
  if (!larder_equal(&request->uri, HELLO)) {
    /* The value of a variable, decoded; NULL where the URI belongs to no template. */
    who = larder_variable(request, "who");
    if (!who) return larder_fail(error, LARDER_NOT_FOUND, "nobody");
  }
  /* Settings stand in the operator's larder.toml: [provider.@NAME@] settings = { greeting = "Hi" } */
  char *greeting = larder_setting("greeting", "Hello");
  larder_text text = {0};
  larder_addf(&text, "%s, %.*s!\n", greeting, (int)who->len, (const char *)who->ptr);
  *answer = (larder_reading){0};
  larder_answer_text(answer, text.ptr, text.len, "text/plain", NULL);
  return true;
}
