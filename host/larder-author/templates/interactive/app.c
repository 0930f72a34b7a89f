/* @NAME@: an example provider that serves greetings, with a tool, a prompt, a search and a setting. Replace them with your
 * own.
 *
 * A function owns its arguments. Results must be allocated with malloc(), as the functions of larder.h do; the bindings
 * free them. Each call runs in a separate guest, so memory that is not freed does not accumulate. Output parameters are
 * zero at the beginning, which means "none".
 */

#include <stdlib.h>

#include "larder_interactive.h"
#include "larder_settings.h"

/* Choose any URIs. Clients see them unchanged. */
#define HELLO "@NAME@://hello"
#define HELLO_WHO "@NAME@://hello/{who}"

/* In the operator's larder.toml: [provider.@NAME@] settings = { greeting = "Hi" } */
static const larder_declared GREETING = {
    .name = "greeting", .description = "The first word of a greeting.", .default_value = "Hello"};

/* The host checks the arguments of the tool with this schema. */
static const char GREETED[] =
    "{\"type\":\"object\",\"properties\":{\"who\":{\"type\":\"string\",\"description\":\"Who is greeted.\"}},"
    "\"required\":[\"who\"]}";

static larder_entry hello(void) {
  return (larder_entry){
      .uri = larder_string(HELLO), .name = larder_string("hello"), .mime_type = larder_some("text/plain")};
}

static bool greet(larder_text *text, const provider_string_t *who, larder_error *error) {
  char *greeting;
  if (!larder_text_setting(&GREETING, &greeting, error)) return false;
  larder_addf(text, "%s, %.*s!", greeting, (int)who->len, (const char *)who->ptr);
  return true;
}

void larder_describe(larder_description *about) {
  /* Shown to users in lists. The summary also tells a model when to use this provider. */
  *about = (larder_description){.title = larder_some("Greetings"), .summary = larder_some("Says hello.")};
}

void larder_settings(larder_declarations *declarations) { larder_declare(declarations, &GREETING); }

bool larder_list(larder_query *query, larder_entry_page *page, larder_error *error) {
  /* The resources, sorted by URI. */
  page->entries.ptr = larder_new(1, sizeof(larder_entry));
  page->entries.ptr[0] = hello();
  page->entries.len = 1;
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
  larder_text text = {0};
  if (!greet(&text, who, error)) return false;
  larder_addf(&text, "\n");
  larder_answer_text(answer, text.ptr, text.len, "text/plain", NULL);
  return true;
}

bool larder_search(larder_search_query *query, larder_hits *found, larder_error *error) {
  /* The best hits first. The host merges those of all providers. This one compares whole words. */
  if (!larder_equal(&query->text, "hello") && !larder_equal(&query->text, "world")) return true;
  found->hits.ptr = larder_new(1, sizeof(larder_hit));
  found->hits.ptr[0] = (larder_hit){.entry = hello(), .excerpt = larder_some("Hello, world!")};
  found->hits.len = 1;
  return true;
}

bool larder_list_tools(provider_string_t *cursor, larder_tool_page *page, larder_error *error) {
  /* Functions that a model may call. */
  larder_tool *tool = larder_new(1, sizeof *tool);
  tool->name = larder_string("greet");
  tool->title = larder_some("Greet somebody");
  tool->description = larder_some("Returns a greeting.");
  tool->input_schema = larder_string(GREETED);
  tool->hints.read_only = larder_hint(true);
  tool->hints.idempotent = larder_hint(true);
  tool->hints.open_world = larder_hint(false);
  *page = (larder_tool_page){.tools = {.ptr = tool, .len = 1}};
  return true;
}

bool larder_call_tool(larder_tool_call *call, larder_tool_answer *answer, larder_error *error) {
  larder_text who = {0}, text = {0};
  if (!larder_equal(&call->name, "greet")) return larder_fail(error, LARDER_NOT_FOUND, "no such tool");
  if (!larder_json_text(&call->arguments, "who", &who)) return larder_fail(error, LARDER_INVALID, "`who` is missing");
  provider_string_t name = larder_bytes(who.ptr, who.len);
  return greet(&text, &name, error) && larder_tool_text(answer, text.ptr, text.len);
}

bool larder_list_prompts(provider_string_t *cursor, larder_prompt_page *page, larder_error *error) {
  /* Prompts, which a user selects. */
  larder_argument *who = larder_new(1, sizeof *who);
  who->name = larder_string("who");
  who->description = larder_some("Who is welcomed.");
  who->required = true;
  larder_prompt *prompt = larder_new(1, sizeof *prompt);
  prompt->name = larder_string("welcome");
  prompt->title = larder_some("Write a welcome");
  prompt->description = larder_some("Asks for a letter that welcomes somebody.");
  prompt->arguments.ptr = who;
  prompt->arguments.len = 1;
  *page = (larder_prompt_page){.prompts = {.ptr = prompt, .len = 1}};
  return true;
}

bool larder_get_prompt(larder_prompt_request *request, larder_prompt_answer *answer, larder_error *error) {
  if (!larder_equal(&request->name, "welcome")) return larder_fail(error, LARDER_NOT_FOUND, "no such prompt");
  const provider_string_t *who = larder_prompt_argument(request, "who");
  if (!who) return larder_fail(error, LARDER_INVALID, "`who` is missing");
  larder_text text = {0};
  larder_addf(&text, "Write a short letter that welcomes %.*s. Begin with: ", (int)who->len, (const char *)who->ptr);
  if (!greet(&text, who, error)) return false;
  larder_add_message(answer, larder_text_block(text.ptr, text.len));
  return true;
}

bool larder_complete_argument(larder_argument_query *query, larder_suggestions *suggestions, larder_error *error) {
  /* Suggestions for the argument of the prompt. */
  suggestions->values.ptr = larder_new(1, sizeof(provider_string_t));
  suggestions->values.ptr[0] = larder_string("Ada");
  suggestions->values.len = 1;
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
