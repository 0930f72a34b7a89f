// Native tests of the parts that need no host. The stubs at the end replace the imports of the component.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "larder_check.h"
#include "larder_interactive.h"
#include "larder_key_value.h"
#include "larder_settings.h"

static int failures;
static const char *stub_setting;
static const char *stub_title;
// The value of the key "k" of the shared bucket, and the failure of all operations on the bucket of a caller.
static larder_text stub_value;
static bool stub_has_value;
static uint8_t stub_failure;

static void expect(int line, const char *actual, const char *wanted) {
    if (strcmp(actual ? actual : "(null)", wanted) == 0) return;
    fprintf(stderr, "line %d: got `%s`, want `%s`\n", line, actual ? actual : "(null)", wanted);
    failures++;
}

#define SAME(actual, wanted) expect(__LINE__, actual, wanted)
#define TRUE(condition) expect(__LINE__, (condition) ? #condition : "false", #condition)

static provider_string_t view(const char *text) { return (provider_string_t){(uint8_t *)text, strlen(text)}; }

static void find(int line, const char *json, const char *path, const char *wanted) {
    provider_string_t text = view(json), found;
    char value[200];
    bool is = larder_json_find(&text, path, &found);
    snprintf(value, sizeof value, "%.*s", is ? (int)found.len : 6, is ? (const char *)found.ptr : "(none)");
    expect(line, value, wanted);
}

static void text(int line, const char *json, const char *path, const char *wanted) {
    provider_string_t given = view(json);
    larder_text into = {0};
    expect(line, larder_json_text(&given, path, &into) ? into.ptr : "(none)", wanted);
    free(into.ptr);
}

#define FIND(json, path, wanted) find(__LINE__, json, path, wanted)
#define TEXT(json, path, wanted) text(__LINE__, json, path, wanted)

static void reads_json(void) {
    const char *nested = " {\"a\" : {\"b\":[1, {\"c\":\"x\"} ,[]]}, \"d.e\":2,\"f\":\"}\\\"\",\"g\":-1.5e2, \"h\":true}";
    FIND(nested, "a.b.0", "1");
    FIND(nested, "a.b.1", "{\"c\":\"x\"}");
    FIND(nested, "a.b.2", "[]");
    FIND(nested, "a.b.3", "(none)");
    FIND(nested, "a.b.x", "(none)");
    FIND(nested, "a.b.2.0", "(none)");
    FIND(nested, "f", "\"}\\\"\"");
    FIND(nested, "g", "-1.5e2");
    FIND(nested, "i", "(none)");
    FIND(nested, "g.x", "(none)");
    FIND("7", "", "7");
    for (size_t length = 0; length < strlen(nested); length++) {
        char *part = strndup(nested, length);
        provider_string_t json = {(uint8_t *)part, length}, found;
        larder_json_find(&json, "h", &found);
        larder_json_find(&json, "a.b.2", &found);
        free(part);
    }
    TEXT(nested, "a.b.1.c", "x");
    TEXT(nested, "f", "}\"");
    TEXT(nested, "g", "(none)");
    TEXT("{\"\\u0061\":\"\\u00e9\\u20ac\\ud83d\\ude00\\n\\/\"}", "a", "é€😀\n/");
    TEXT("\"\\ud83d\"", "", "(none)");
    TEXT("\"\\ude00\"", "", "(none)");
    TEXT("\"\\u12", "", "(none)");
    TEXT("\"\"", "", "");
    double number = 0;
    bool value = false;
    provider_string_t json = view(nested);
    TRUE(larder_json_number(&json, "g", &number) && number == -150);
    TRUE(!larder_json_number(&json, "f", &number));
    TRUE(larder_json_boolean(&json, "h", &value) && value);
    TRUE(!larder_json_boolean(&json, "g", &value));
}

static void checks_results(void) {
    larder_entry entries[2] = {{.uri = view("n:1"), .name = view("1")}, {.uri = view("n:2"), .name = view("2")}};
    larder_entry_page page = {.entries = {entries, 2}};
    larder_error error = {0};
    larder_icon icon = {.src = view("x:")};
    uint8_t role = 7;
#define PROBLEM(wanted) \
    do { \
        TRUE(!LARDER_EACH("entries", page.entries, larder_good_entry)); \
        SAME(larder_problem(), wanted); \
    } while (0)
    TRUE(LARDER_EACH("entries", page.entries, larder_good_entry));
    entries[1].uri = view("n:\xff");
    PROBLEM("entries[1].uri is not UTF-8");
    entries[1].uri = (provider_string_t){NULL, 3};
    PROBLEM("entries[1].uri is NULL, with the length 3");
    entries[1].uri = view("");
    PROBLEM("entries[1].uri is empty");
    entries[1].uri = view("n:2");
    entries[1].details.is_some = true;
    entries[1].details.val.audience.ptr = &role;
    entries[1].details.val.audience.len = 1;
    PROBLEM("entries[1].details.audience[0] is 7, which is not a role");
    entries[1].details.val.audience.len = 0;
    entries[1].details.val.icons.ptr = &icon;
    entries[1].details.val.icons.len = 1;
    icon.theme.is_some = true;
    icon.theme.val = 2;
    PROBLEM("entries[1].details.icons[0].theme is 2, which is not a theme");
    page.entries.ptr = NULL;
    PROBLEM("entries is NULL, with the length 2");
    TRUE(!larder_result("larder_list", true, false, &error));
    SAME((char *)error.val.failed.ptr, "larder_list: entries is NULL, with the length 2");
    error.tag = 99;
    TRUE(!larder_result("larder_list", false, false, &error) && error.tag == LARDER_FAILED);
    TRUE(larder_result("larder_list", true, true, &error));
}

static void checks_answers(void) {
    larder_tool_call call = {0};
    larder_tool_answer answer;
    larder_error error;
    call.name = view("null");
    TRUE(!exports_larder_provider_tool_provider_call_tool(&call, &answer, &error) && error.tag == LARDER_FAILED);
    SAME((char *)error.val.failed.ptr, "larder_call_tool: content is NULL, with the length 2");
    call.name = view("bytes");
    TRUE(!exports_larder_provider_tool_provider_call_tool(&call, &answer, &error) && error.tag == LARDER_FAILED);
    SAME((char *)error.val.failed.ptr, "larder_call_tool: content[0].value.text is not UTF-8");
    call.name = view("ask");
    TRUE(!exports_larder_provider_tool_provider_call_tool(&call, &answer, &error) && error.tag == LARDER_FAILED);
    SAME((char *)error.val.failed.ptr, "larder_call_tool: requests[0].key is empty");
    call.name = view("other");
    TRUE(!exports_larder_provider_tool_provider_call_tool(&call, &answer, &error) && error.tag == LARDER_NOT_FOUND);
    call.name = view("good");
    TRUE(exports_larder_provider_tool_provider_call_tool(&call, &answer, &error));
    provider_string_t uri = view("n:1");
    provider_list_string_t uris = {&uri, 1};
    provider_list_option_string_t versions;
    TRUE(!exports_larder_provider_version_provider_versions(&uris, &versions, &error));
    SAME((char *)error.val.failed.ptr, "larder_versions: there are 0 versions for 1 URIs");
}

static void reports_a_description_that_failed(void) {
    larder_template_page page;
    larder_error error;
    TRUE(exports_larder_provider_resource_provider_list_templates(NULL, &page, &error));
    stub_title = "\xff";
    TRUE(!exports_larder_provider_resource_provider_list_templates(NULL, &page, &error) && error.tag == LARDER_FAILED);
    SAME((char *)error.val.failed.ptr, "larder_describe failed: title is not UTF-8");
    provider_string_t cursor = view("next");
    TRUE(exports_larder_provider_resource_provider_list_templates(&cursor, &page, &error));
    stub_title = NULL;
}

static void reads_responses(void) {
    larder_provider_interaction_types_input_response_t responses[2] = {{.key = view("a")}, {.key = view("b")}};
    responses[0].outcome.val.ok = view("{\"action\":\"accept\",\"content\":{\"n\":\"x\"}}");
    responses[1].outcome.is_err = true;
    responses[1].outcome.val.err = view("{}");
    larder_input input = {.responses = {responses, 2}};
    TRUE(larder_accepted(larder_response(&input, "a")));
    TRUE(!larder_response(&input, "b") && !larder_response(&input, "c") && !larder_accepted(NULL));
    responses[0].outcome.val.ok = view("{\"action\":\"decline\"}");
    TRUE(!larder_accepted(larder_response(&input, "a")));
    TRUE(!larder_has_state(&input, ""));
    input.state.is_some = true;
    input.state.val.ptr = (uint8_t *)"s";
    input.state.val.len = 1;
    TRUE(larder_has_state(&input, "s") && !larder_has_state(&input, "t"));
}

static void reads_settings(void) {
    larder_declared setting = {.name = "x", .description = ""};
    larder_error error = {0};
    uint64_t amount;
    bool value;
    double number;
    char *found;
#define AMOUNT(kind, given, wanted) \
    TRUE((stub_setting = given, larder_##kind##_setting(&setting, &amount, &error)) && amount == (uint64_t)(wanted))
#define BAD(kind, given) TRUE((stub_setting = given, !larder_##kind##_setting(&setting, &amount, &error)))
    AMOUNT(size, "64MiB", 64 << 20);
    AMOUNT(size, "1 GB", 1000000000);
    AMOUNT(size, "7", 7);
    BAD(size, "1.5MiB");
    BAD(size, "");
    BAD(size, "99999999999GiB");
    BAD(size, "28446744073709551610");
    BAD(size, "1 MiB extra");
    SAME((char *)error.val.failed.ptr, "setting `x`: \"1 MiB extra\" is not a size, such as 64MiB");
    AMOUNT(duration, "10s", 10000);
    AMOUNT(duration, "1m 30s", 90000);
    AMOUNT(duration, "1h30m", 5400000);
    BAD(duration, "10");
    BAD(duration, "");
    AMOUNT(size, NULL, 0);
    setting.default_value = "2KiB";
    AMOUNT(size, NULL, 2048);
    stub_setting = "true";
    TRUE(larder_boolean_setting(&setting, &value, &error) && value);
    stub_setting = "yes";
    TRUE(!larder_boolean_setting(&setting, &value, &error));
    stub_setting = "1.5";
    TRUE(larder_number_setting(&setting, &number, &error) && number == 1.5);
    stub_setting = "1.5x";
    TRUE(!larder_number_setting(&setting, &number, &error));
    stub_setting = NULL;
    setting.default_value = NULL;
    TRUE(larder_text_setting(&setting, &found, &error) && !found);
    setting.required = true;
    TRUE(!larder_text_setting(&setting, &found, &error));
    SAME((char *)error.val.failed.ptr, "setting `x` is missing");
    larder_declarations all = {0};
    larder_declare(&all, &setting);
    larder_declare(&all, &setting);
    TRUE(all.len == 2 && larder_equal(&all.ptr[1].name, "x") && !all.ptr[1].default_.is_some);
}

static void matches_greedy_templates(void) {
    larder_match match = {0};
    provider_string_t uri = view("git://r/a%20b/c");
    TRUE(larder_match_greedy("git://{repo}/{path}", &uri, &match) && match.variables.len == 2);
    TRUE(larder_equal(&match.variables.ptr[0].value, "r") && larder_equal(&match.variables.ptr[1].value, "a b/c"));
    TRUE(larder_equal(&match.variables.ptr[1].name, "path") && !match.variables.ptr[1].key.is_some);
    TRUE(!larder_match_greedy("git://{+path}", &uri, &match));
}

static void stores_values(void) {
    larder_text into = {0}, one = {0}, two = {0};
    larder_error error;
    bool found, swapped;
    larder_addf(&one, "1");
    larder_addf(&two, "2");
    TRUE(larder_get_value(LARDER_SHARED, "k", &into, &found, &error) && !found);
    TRUE(!larder_get_value(LARDER_SHARED, "k", &into, NULL, &error) && error.tag == LARDER_NOT_FOUND);
    TRUE(larder_set_value(LARDER_SHARED, "k", "1", 1, &error));
    TRUE(larder_get_value(LARDER_SHARED, "k", &into, NULL, &error));
    SAME(into.ptr, "1");
    TRUE(larder_swap_value(LARDER_SHARED, "k", NULL, &two, &swapped, &error) && !swapped);
    TRUE(larder_swap_value(LARDER_SHARED, "k", &one, &two, &swapped, &error) && swapped);
    TRUE(larder_swap_value(LARDER_SHARED, "k", &two, NULL, &swapped, &error) && swapped && !stub_has_value);
    TRUE(larder_set_value(LARDER_SHARED, "k", "", 0, &error) && stub_has_value);
    TRUE(larder_delete_value(LARDER_SHARED, "k", &error) && !stub_has_value);
    TRUE(!larder_set_value(LARDER_SHARED, "\xff", "", 0, &error) && error.tag == LARDER_FAILED);
    TRUE(!larder_delete_value(LARDER_SHARED, NULL, &error) && error.tag == LARDER_FAILED);
    const int kinds[] = {LARDER_DENIED, LARDER_DENIED, LARDER_FAILED, LARDER_FAILED, LARDER_FAILED, LARDER_UNAVAILABLE};
    for (stub_failure = 0; stub_failure < 6; stub_failure++)
        TRUE(!larder_set_value(LARDER_CALLER, "k", "", 0, &error) && error.tag == kinds[stub_failure]);
    larder_key_page page;
    TRUE(!larder_list_keys(LARDER_CALLER, "", NULL, &page, &error));
}

// Adds the entries n:0 to n:5 to a page, and returns their URIs and the cursor.
static char *page_of(larder_query query) {
    larder_entry_page page = {0};
    char uri[8] = "n:?";
    for (char at = '0'; at < '6'; at++) {
        uri[2] = at;
        larder_entry entry = {.uri = larder_string(uri), .name = larder_string("entry"), .details.is_some = at != '3'};
        if (at != '3') entry.details.val.kind = larder_some(at % 2 ? "odd" : "even");
        if (!larder_add_entry(&query, &page, entry)) break;
    }
    larder_text shown = {0};
    for (size_t at = 0; at < page.entries.len; at++)
        larder_addf(&shown, "%.*s ", (int)page.entries.ptr[at].uri.len, (char *)page.entries.ptr[at].uri.ptr);
    const provider_string_t *cursor = &page.next_cursor.val;
    larder_addf(&shown, "next %.*s", page.next_cursor.is_some ? (int)cursor->len : 0, (char *)cursor->ptr);
    free(page.entries.ptr);
    return shown.ptr;
}

static void pages_of_a_sorted_list(void) {
    provider_option_string_t none = {0};
    provider_option_string_t second = {.is_some = true, .val = view("n:1")};
    provider_option_string_t between = {.is_some = true, .val = view("n:35")};
    provider_option_string_t odd = {.is_some = true, .val = view("odd")};
    provider_option_string_t other = {.is_some = true, .val = view("m:")};
    SAME(page_of((larder_query){.limit = 2}), "n:0 n:1 next n:1");
    SAME(page_of((larder_query){.limit = 2, .cursor = second}), "n:2 n:3 next n:3");
    SAME(page_of((larder_query){.limit = 4, .cursor = second}), "n:2 n:3 n:4 n:5 next ");
    SAME(page_of((larder_query){.limit = 9, .cursor = between}), "n:4 n:5 next ");
    SAME(page_of((larder_query){.limit = 9, .kind = odd}), "n:1 n:5 next ");
    SAME(page_of((larder_query){.limit = 9, .uri_prefix = other, .kind = none}), "next ");
    SAME(page_of((larder_query){.limit = 0}), "n:0 next n:0");
}

int main(void) {
    pages_of_a_sorted_list();
    reads_json();
    checks_results();
    checks_answers();
    reports_a_description_that_failed();
    reads_responses();
    reads_settings();
    stores_values();
    matches_greedy_templates();
    return failures > 0;
}

// The functions of a provider.

bool larder_call_tool(larder_tool_call *call, larder_tool_answer *answer, larder_error *error) {
    if (larder_equal(&call->name, "null")) answer->val.complete.content.len = 2;
    else if (larder_equal(&call->name, "bytes")) larder_tool_text(answer, "\xff", 1);
    else if (larder_equal(&call->name, "ask")) larder_tool_asks(answer, "", "elicitation/create", "{}");
    else if (larder_equal(&call->name, "good")) larder_tool_text(answer, "é", 2);
    else return larder_fail(error, LARDER_NOT_FOUND, "no such tool");
    return true;
}

#define EMPTY(name, a, b) bool name(a *x, b *y, larder_error *z) { return (void)x, (void)y, (void)z, true; }
EMPTY(larder_list, larder_query, larder_entry_page)
EMPTY(larder_templates, provider_string_t, larder_template_page)
EMPTY(larder_read, larder_request, larder_reading)
EMPTY(larder_complete, larder_completion_request, larder_completion)
EMPTY(larder_versions, provider_list_string_t, provider_list_option_string_t)
EMPTY(larder_search, larder_search_query, larder_hits)
EMPTY(larder_list_tools, provider_string_t, larder_tool_page)
EMPTY(larder_list_prompts, provider_string_t, larder_prompt_page)
EMPTY(larder_get_prompt, larder_prompt_request, larder_prompt_answer)
EMPTY(larder_complete_argument, larder_argument_query, larder_suggestions)
void larder_describe(larder_description *about) {
    if (stub_title) about->title = larder_some(stub_title);
}
bool larder_match_uri(provider_string_t *uri, larder_match *match) { return (void)uri, (void)match, false; }
void larder_settings(larder_declarations *declarations) { (void)declarations; }

// Stubs of the generated code.

bool larder_provider_provider_host_setting(provider_string_t *name, provider_string_t *value) {
    (void)name;
    if (stub_setting) *value = larder_string(stub_setting);
    return stub_setting != NULL;
}
void larder_provider_provider_host_log(uint8_t level, provider_string_t *message) { (void)level, (void)message; }
void provider_string_free(provider_string_t *text) { free(text->ptr); }
bool larder_provider_http_client_send(larder_provider_http_client_request_t *a, larder_provider_http_client_response_t *b,
                                      larder_provider_http_client_failure_t *c) {
    return (void)a, (void)b, (void)c, false;
}
void larder_provider_http_client_request_free(larder_provider_http_client_request_t *x) { (void)x; }
void larder_provider_http_client_response_free(larder_provider_http_client_response_t *x) { (void)x; }
void larder_provider_http_client_failure_free(larder_provider_http_client_failure_t *x) { (void)x; }
void exports_larder_provider_resource_provider_template_match_free(larder_match *x) { (void)x; }
void exports_larder_provider_resource_provider_description_free(larder_description *x) { (void)x; }
void larder_provider_provider_types_entry_free(larder_entry *x) { (void)x; }

static bool stub_fails(larder_bucket bucket, larder_provider_key_value_failure_t *failure) {
    if (bucket == LARDER_SHARED) return false;
    failure->tag = stub_failure;
    failure->val.not_granted = view("why");
    return true;
}
bool larder_provider_key_value_get(larder_bucket bucket, provider_string_t *key, provider_option_list_u8_t *value,
                                   larder_provider_key_value_failure_t *failure) {
    if (stub_fails(bucket, failure)) return false;
    value->is_some = stub_has_value && larder_equal(key, "k");
    value->val = (provider_list_u8_t){(uint8_t *)stub_value.ptr, stub_value.len};
    return true;
}
bool larder_provider_key_value_set(larder_bucket bucket, provider_string_t *key, provider_list_u8_t *value,
                                   larder_provider_key_value_failure_t *failure) {
    if (stub_fails(bucket, failure)) return false;
    stub_value.len = 0;
    larder_add(&stub_value, value->ptr, value->len);
    return stub_has_value = larder_equal(key, "k");
}
bool larder_provider_key_value_delete(larder_bucket bucket, provider_string_t *key,
                                      larder_provider_key_value_failure_t *failure) {
    if (stub_fails(bucket, failure)) return false;
    if (larder_equal(key, "k")) stub_has_value = false;
    return true;
}
bool larder_provider_key_value_compare_and_swap(larder_bucket bucket, provider_string_t *key,
                                                provider_list_u8_t *expected, provider_list_u8_t *value, bool *swapped,
                                                larder_provider_key_value_failure_t *failure) {
    if (stub_fails(bucket, failure)) return false;
    *swapped = stub_has_value == (expected != NULL);
    if (expected) *swapped = *swapped && expected->len == stub_value.len && !memcmp(expected->ptr, stub_value.ptr, expected->len);
    if (*swapped && value) larder_provider_key_value_set(bucket, key, value, failure);
    if (*swapped && !value) stub_has_value = false;
    return true;
}
bool larder_provider_key_value_list_keys(larder_bucket bucket, provider_string_t *prefix, provider_string_t *cursor,
                                         uint32_t limit, larder_key_page *page,
                                         larder_provider_key_value_failure_t *failure) {
    (void)prefix, (void)cursor, (void)limit, (void)page;
    return !stub_fails(bucket, failure);
}
void provider_option_list_u8_free(provider_option_list_u8_t *x) { (void)x; }
void larder_provider_key_value_failure_free(larder_provider_key_value_failure_t *x) { (void)x; }
