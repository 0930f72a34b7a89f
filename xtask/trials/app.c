/* Test provider with correct and faulty behaviour, selected by the URI. The same provider exists in seven languages. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "larder.h"
#include "larder_key_value.h"

#define PATH "trial:///{path}"

void larder_describe(larder_description *about) {
  *about = (larder_description){0};
  larder_claim(about, PATH);
}

bool larder_list(larder_query *query, larder_entry_page *page, larder_error *error) {
  *page = (larder_entry_page){0};
  return true;
}

bool larder_templates(provider_string_t *cursor, larder_template_page *page, larder_error *error) {
  larder_template *templates = larder_new(2, sizeof *templates);
  templates[0].uri_template = larder_string("trial://{what}");
  templates[0].name = larder_string("the behaviour");
  templates[1].uri_template = larder_string(PATH);
  templates[1].name = larder_string("a path");
  *page = (larder_template_page){.templates = {templates, 2}};
  return true;
}

bool larder_match_uri(provider_string_t *uri, larder_match *match) {
  return larder_match_greedy(PATH, uri, match);
}

static bool get(const char *setting, larder_text *text, larder_error *error) {
  return larder_get(larder_setting(setting, ""), text, error);
}

static bool add_keys(larder_bucket bucket, larder_text *text, larder_error *error) {
  larder_key_page page;
  if (!larder_list_keys(bucket, "", NULL, &page, error)) return false;
  for (size_t at = 0; at < page.keys.len; at++)
    larder_addf(text, "%s%.*s", at ? "," : "", (int)page.keys.ptr[at].len, (char *)page.keys.ptr[at].ptr);
  larder_provider_key_value_key_page_free(&page);
  return true;
}

static bool swap(const char *expected, const char *value, larder_text *text, larder_error *error) {
  larder_text before = {0}, after = {0};
  bool swapped;
  if (expected) larder_addf(&before, "%s", expected);
  if (value) larder_addf(&after, "%s", value);
  if (!larder_swap_value(LARDER_SHARED, "b", expected ? &before : NULL, value ? &after : NULL, &swapped, error)) return false;
  if (text) larder_addf(text, " %s", swapped ? "true" : "false");
  return true;
}

static bool stores(larder_text *text, larder_error *error) {
  larder_text swapped = {0}, rest = {0};
  bool found;
  if (!larder_set_value(LARDER_SHARED, "a", "1", 1, error) || !larder_set_value(LARDER_SHARED, "b", "2", 1, error)) return false;
  if (!swap("1", "3", &swapped, error) || !swap("2", "3", &swapped, error) || !swap(NULL, "3", &swapped, error)) return false;
  if (!add_keys(LARDER_SHARED, text, error)) return false;
  larder_add(text, " ", 1);
  if (!larder_get_value(LARDER_SHARED, "b", text, NULL, error) || !swap("3", NULL, NULL, error)) return false;
  if (!larder_delete_value(LARDER_SHARED, "a", error) || !add_keys(LARDER_SHARED, &rest, error)) return false;
  if (!larder_get_value(LARDER_SHARED, "b", &rest, &found, error)) return false;
  larder_addf(text, "%s %d", swapped.ptr, (int)rest.len + found);
  return true;
}

bool larder_read(larder_request *request, larder_reading *answer, larder_error *error) {
  const provider_string_t *what = larder_variable(request, "what");
  larder_text text = {0};
  *answer = (larder_reading){0};
  if (!what) {
    const provider_string_t *path = larder_variable(request, "path");
    larder_add(&text, path->ptr, path->len);
  } else if (larder_equal(what, "long")) {
    if (!larder_read_file("/folder/long.txt", &text)) return larder_fail(error, LARDER_FAILED, "cannot read it");
  } else if (larder_equal(what, "garbled")) {
    return larder_fail(error, LARDER_FAILED, "no caf\xe9");
  } else if (larder_equal(what, "revision")) {
    larder_addf(&text, "first");
  } else if (larder_equal(what, "http")) {
    if (!get("granted", &text, error)) return false;
  } else if (larder_equal(what, "elsewhere")) {
    if (!get("elsewhere", &text, error)) return false;
  } else if (larder_equal(what, "stores")) {
    if (!stores(&text, error)) return false;
  } else if (larder_equal(what, "stores-own")) {
    if (!add_keys(LARDER_CALLER, &text, error)) return false;
  } else if (larder_equal(what, "raises")) {
    return larder_fail(error, LARDER_FAILED, "no such luck");
  } else if (larder_equal(what, "ends")) {
    fputs("last words\n", stderr);
    abort();
  } else if (larder_equal(what, "eats")) {
    memset(larder_new(256, 1 << 20), 1, 256 << 20);
    larder_addf(&text, "eaten");
  } else if (larder_equal(what, "spins")) {
    for (volatile int turn = 0;; turn++);
  } else {
    return larder_fail(error, LARDER_NOT_FOUND, "nothing");
  }
  larder_answer_text(answer, text.ptr, text.len, "text/plain", NULL);
  return true;
}
