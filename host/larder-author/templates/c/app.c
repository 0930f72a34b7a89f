/* @NAME@: an example provider that serves greetings. Replace them with your own resources.
 *
 * A function owns its arguments. Results must be allocated with malloc(), as the functions of larder.h do; the bindings
 * free them. Each call runs in a separate guest, so memory that is not freed does not accumulate. Output parameters are
 * zero at the beginning, which means "none".
 */

#include <stdlib.h>

#include "larder.h"

/* Choose any URIs. Clients see them unchanged. */
#define HELLO "@NAME@://hello"
#define HELLO_WHO "@NAME@://hello/{who}"

void larder_describe(larder_description *about) {
  /* Shown to users in lists. The summary also tells a model when to use this provider. */
  *about = (larder_description){.title = larder_some("Greetings"), .summary = larder_some("Says hello.")};
}

bool larder_list(larder_query *query, larder_entry_page *page, larder_error *error) {
  /* The resources, sorted by URI. */
  larder_entry *entry = larder_new(1, sizeof *entry);
  entry->uri = larder_string(HELLO);
  entry->name = larder_string("hello");
  entry->mime_type = larder_some("text/plain");
  *page = (larder_entry_page){.entries = {.ptr = entry, .len = 1}};
  return true;
}

bool larder_templates(provider_string_t *cursor, larder_template_page *page, larder_error *error) {
  /* URI templates, for resources that are too many to list. */
  larder_template *template = larder_new(1, sizeof *template);
  template->uri_template = larder_string(HELLO_WHO);
  template->name = larder_string("a greeting");
  template->mime_type = larder_some("text/plain");
  *page = (larder_template_page){.templates = {.ptr = template, .len = 1}};
  return true;
}

bool larder_match_uri(provider_string_t *uri, larder_match *match) {
  /* Called only if the provider claims prefixes. */
  return false;
}

bool larder_read(larder_request *request, larder_reading *answer, larder_error *error) {
  provider_string_t world = larder_string("world");
  const provider_string_t *who = &world;
  if (!larder_equal(&request->uri, HELLO)) {
    /* The decoded value of a variable; NULL if no template matched the URI. */
    who = larder_variable(request, "who");
    if (!who) return larder_fail(error, LARDER_NOT_FOUND, "no such greeting");
  }
  /* Settings come from the operator's larder.toml: [provider.@NAME@] settings = { greeting = "Hi" } */
  char *greeting = larder_setting("greeting", "Hello");
  larder_text text = {0};
  larder_addf(&text, "%s, %.*s!\n", greeting, (int)who->len, (const char *)who->ptr);
  larder_answer_text(answer, text.ptr, text.len, "text/plain", NULL);
  return true;
}

#ifdef LARDER_NATIVE
/* `make native-test` compiles this file as a program for this machine, with a stand-in for the host. */

#include <assert.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  const char *ada[] = {"who", "Ada", NULL};
  int error;
  assert(strcmp(larder_test_read(HELLO, NULL, NULL, &error), "Hello, world!\n") == 0);
  assert(strcmp(larder_test_read("@NAME@://hello/Ada", HELLO_WHO, ada, &error), "Hello, Ada!\n") == 0);
  assert(!larder_test_read("@NAME@://nothing", NULL, NULL, &error) && error == LARDER_NOT_FOUND);
  puts("the functions return greetings");
}
#endif
