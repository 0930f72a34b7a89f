// Native tests with the generated bindings: what a call allocates is freed exactly once, as the address sanitizer checks.
// Each call gets arguments as the host passes them, and its result is freed as the bindings free it.
#include <cstdio>

#include "host_stub.h"
#include "provider.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#else
inline void __lsan_disable() {}
inline void __lsan_enable() {}
#endif

LARDER_PROVIDER(Notes);

namespace {

int failures = 0;

void expect(int line, std::string_view actual, std::string_view wanted) {
    if (actual == wanted) return;
    std::fprintf(stderr, "line %d: got `%.*s`, want `%.*s`\n", line, static_cast<int>(actual.size()), actual.data(),
                 static_cast<int>(wanted.size()), wanted.data());
    failures++;
}

#define SAME(actual, wanted) expect(__LINE__, actual, wanted)
#define TRUE(condition) expect(__LINE__, (condition) ? #condition : "false", #condition)

using larder::detail::view;

provider_string_t given(std::string_view text) { return {stub::owned(text), text.size()}; }
provider_option_string_t some(std::string_view text) { return {true, given(text)}; }

// Returns the text of an error, and frees it.
std::string reason(larder_error &error) {
    const std::string text = error.tag >= LARDER_INVALID ? larder::detail::copy(error.val.failed) : "";
    const std::string kind = std::to_string(error.tag);
    larder_provider_provider_types_error_free(&error);
    return kind + " " + text;
}

void lists() {
    larder_error error;
    larder_entry_page page;
    larder_query query = {some("n:0"), 1, some(""), {}};
    TRUE(exports_larder_provider_resource_provider_list_resources(&query, &page, &error));
    TRUE(page.entries.len == 1 && page.freshness.is_some);
    TRUE(page.freshness.val.ttl_ms == 5 && page.freshness.val.scope == 1);
    const larder_entry &entry = page.entries.ptr[0];
    SAME(view(entry.uri), "n:1");
    TRUE(entry.title.is_some && entry.title.val.len == 0 && entry.size.val == 7);
    TRUE(entry.details.val.audience.len == 2 && entry.details.val.audience.ptr[1] == 1);
    TRUE(entry.details.val.priority.val == 0.5);
    TRUE(entry.details.val.icons.len == 2 && entry.details.val.icons.ptr[0].theme.val == 1);
    TRUE(entry.details.val.icons.ptr[0].sizes.len == 2 && !entry.details.val.icons.ptr[1].mime_type.is_some);
    SAME(view(entry.details.val.metadata.ptr[0].f1), "1");
    SAME(view(page.next_cursor.val), "n:1");
    exports_larder_provider_resource_provider_entry_page_free(&page);

    query = {{}, 5, {}, some("none")};
    TRUE(exports_larder_provider_resource_provider_list_resources(&query, &page, &error) && page.entries.len == 0);
    exports_larder_provider_resource_provider_entry_page_free(&page);
    query = {};
    TRUE(!exports_larder_provider_resource_provider_list_resources(&query, &page, &error));
    SAME(reason(error), "2 no limit ?");

    larder_template_page templates;
    TRUE(exports_larder_provider_resource_provider_list_templates(nullptr, &templates, &error));
    SAME(view(templates.templates.ptr[0].uri_template), "n:{id}");
    SAME(view(templates.next_cursor.val), "none");
    exports_larder_provider_resource_provider_template_page_free(&templates);
    provider_string_t cursor = given("more");
    TRUE(exports_larder_provider_resource_provider_list_templates(&cursor, &templates, &error));
    SAME(view(templates.next_cursor.val), "more");
    exports_larder_provider_resource_provider_template_page_free(&templates);

    larder_description about;
    exports_larder_provider_resource_provider_describe(&about);
    TRUE(about.claims.len == 3 && !about.version.is_some && about.summary.is_some);
    SAME(view(about.claims.ptr[2]), "git://");
    exports_larder_provider_resource_provider_description_free(&about);
}

// A request with the values of a template: one, a list, and a map.
larder_request request(std::string_view uri, bool matched) {
    larder_request made = {given(uri), {}, some("u")};
    if (!matched) return made;
    auto *variables = stub::list<larder_variable_value>(5);
    variables[0] = {given("id"), {}, given("7")};
    variables[1] = {given("tag"), {}, given("a")};
    variables[2] = {given("tag"), {}, given("")};
    variables[3] = {given("at"), some("x"), given("1")};
    variables[4] = {given("at"), some("y"), given("2")};
    made.matched = {true, {given("n:{id}{?tag*,at*}"), {variables, 5}}};
    return made;
}

// Reads a resource: its first content, or its error.
std::string read(larder_request given) {
    larder_error error;
    larder_reading reading;
    if (!exports_larder_provider_resource_provider_read_resource(&given, &reading, &error)) return reason(error);
    const auto &body = reading.contents.ptr[0].body;
    const std::string bytes = std::to_string(body.val.blob.len) + " bytes";
    const std::string text = body.tag == 0 ? larder::detail::copy(body.val.text) : bytes;
    exports_larder_provider_resource_provider_reading_free(&reading);
    return text;
}

void reads() {
    SAME(read(request("n:7", true)), "7;2;x=1,y=2,");
    SAME(read(request("n:bytes", false)), "2 bytes");
    SAME(read(request("n:none", false)), "0 ");
    SAME(read(request("n:empty", false)), "5 the provider gave no reason");
    larder_request known = request("n:7", false);
    provider_option_string_free(&known.known_version);
    known.known_version = some("v");
    SAME(read(known), "1 ");
    // A wrong value is not freed: the C SDK, which rejects it, does not know who allocated it.
    __lsan_disable();
    SAME(read(request("n:wrong", false)), "5 larder_read: contents[0].body is not UTF-8");
    __lsan_enable();
    const larder::Match matched{"n:{tag*}", {{"tag", {}, "a"}, {"tag", {}, "b"}}};
    const larder::Request direct{.uri = "n:7", .matched = matched};
    SAME(direct.var("tag").value_or(""), "a,b");
    TRUE(direct.matches("n:{tag*}") && !direct.matches("n:{id}") && !direct.var("id"));
}

void matches_uris() {
    larder_match match;
    provider_string_t uri = given("git://r/a%20b/c");
    TRUE(exports_larder_provider_resource_provider_match_uri(&uri, &match));
    SAME(view(match.uri_template), "git://{repo}/{path}");
    SAME(view(match.variables.ptr[1].value), "a b/c");
    exports_larder_provider_resource_provider_template_match_free(&match);
    for (std::string_view other : {"git://r", "other:1", "file:///%ff"}) {
        uri = given(other);
        TRUE(!exports_larder_provider_resource_provider_match_uri(&uri, &match));
    }
}

void optional_interfaces() {
    larder_error error;
    larder_completion completion;
    auto *filled = stub::list<provider_tuple2_string_string_t>(1);
    filled[0] = {given("a"), given("b")};
    larder_completion_request request = {given("n:{id}"), given("id"), given("id1"), {filled, 1}};
    TRUE(exports_larder_provider_completion_provider_complete(&request, &completion, &error));
    TRUE(completion.values.len == 61 && completion.total.val == 61 && !completion.more);
    exports_larder_provider_completion_provider_completion_free(&completion);
    request = {given("n:{id}"), given("id"), given(""), {}};
    TRUE(exports_larder_provider_completion_provider_complete(&request, &completion, &error));
    TRUE(completion.values.len == 100 && completion.total.val == 150 && completion.more);
    exports_larder_provider_completion_provider_completion_free(&completion);

    auto *uris = stub::list<provider_string_t>(2);
    uris[0] = given("n:1"), uris[1] = given("n:2");
    provider_list_string_t list = {uris, 2};
    provider_list_option_string_t versions;
    TRUE(exports_larder_provider_version_provider_versions(&list, &versions, &error));
    TRUE(versions.len == 2 && versions.ptr[0].is_some && !versions.ptr[1].is_some);
    provider_list_option_string_free(&versions);

    larder_search_query query = {given("text"), 5, {}, some("note")};
    larder_hits hits;
    TRUE(exports_larder_provider_search_provider_search(&query, &hits, &error) && hits.hits.len == 2);
    SAME(view(hits.hits.ptr[0].excerpt.val), "text");
    exports_larder_provider_search_provider_hits_free(&hits);
}

void tools() {
    larder_error error;
    larder_tool_page page;
    TRUE(exports_larder_provider_tool_provider_list_tools(nullptr, &page, &error) && page.tools.len == 3);
    TRUE(page.tools.ptr[0].hints.read_only.val && page.tools.ptr[0].hints.destructive.is_some);
    TRUE(!page.tools.ptr[0].hints.idempotent.is_some && page.tools.ptr[0].icons.len == 1);
    SAME(view(page.tools.ptr[1].input_schema), "{\"type\":\"object\"}");
    exports_larder_provider_tool_provider_tool_page_free(&page);

    const auto call = [&](std::string_view name, std::string_view arguments, larder_input *input = nullptr) {
        larder_tool_call made = {given(name), given(arguments), {}};
        if (input) made.input = {true, *input};
        larder_tool_answer answer;
        if (!exports_larder_provider_tool_provider_call_tool(&made, &answer, &error)) return reason(error);
        std::string text;
        if (answer.tag == 0) {
            text = larder::detail::copy(answer.val.complete.content.ptr[0].value.val.text);
            text += "|" + larder::detail::copy(answer.val.complete.structured).value_or("");
            text += answer.val.complete.is_error ? "|error" : "";
        } else {
            const auto &required = answer.val.input_required;
            for (std::size_t at = 0; at < required.requests.len; at++) {
                text += larder::detail::copy(required.requests.ptr[at].method);
                text += larder::detail::copy(required.requests.ptr[at].params) + "\n";
            }
        }
        exports_larder_provider_tool_provider_tool_answer_free(&answer);
        return text;
    };
    SAME(call("echo", "{\"text\":\"a\\\"b\"}"), "a\"b|{\"text\":\"a\\\"b\"}");
    SAME(call("echo", "{}"), "none|{\"text\":\"none\"}");
    SAME(call("echo", "{\"fail\":true}"), "it failed||error");
    SAME(call("other", "{}"), "0 ");
    SAME(call("nothing", "{}"), "5 tool `nothing` has no function `call`");
    SAME(call("ask", "{}"), R"(elicitation/create{"mode":"form","message":"Which \"title\"?","requestedSchema":{"type":"object"}}
elicitation/create{"mode":"url","message":"m","url":"https://example.org"}
sampling/createMessage{}
roots/list{}
)");
    auto *responses = stub::list<larder_provider_interaction_types_input_response_t>(2);
    responses[0] = {given("form"), {false, {.ok = given("{\"action\":\"accept\",\"content\":{\"title\":\"t\"}}")}}};
    responses[1] = {given("page"), {true, {.err = given("{}")}}};
    larder_input input = {{responses, 2}, {true, {stub::owned("state"), 5}}};
    SAME(call("ask", "{}", &input), "tstate failed|");
    input = {};
    SAME(call("ask", "{}", &input), "declined|");
}

void prompts() {
    larder_error error;
    larder_prompt_page page;
    TRUE(exports_larder_provider_prompt_provider_list_prompts(nullptr, &page, &error) && page.prompts.len == 1);
    TRUE(page.prompts.ptr[0].arguments.len == 2 && page.prompts.ptr[0].arguments.ptr[0].required);
    exports_larder_provider_prompt_provider_prompt_page_free(&page);

    const auto get = [&](std::string_view name, std::string_view argument, std::string_view tone) {
        auto *pairs = stub::list<provider_tuple2_string_string_t>(2);
        pairs[0] = {given(argument), given("1.0")}, pairs[1] = {given("tone"), given(tone)};
        larder_prompt_request made = {given(name), {pairs, 2}, {}};
        larder_prompt_answer answer;
        if (!exports_larder_provider_prompt_provider_get_prompt(&made, &answer, &error)) return reason(error);
        std::string text = "asks";
        if (answer.tag == 0) {
            text = larder::detail::copy(answer.val.complete.messages.ptr[0].content.value.val.text);
            text += std::to_string(answer.val.complete.messages.ptr[1].role);
        }
        exports_larder_provider_prompt_provider_prompt_answer_free(&answer);
        return text;
    };
    SAME(get("announce", "version", ""), "1.01");
    SAME(get("announce", "version", "ask"), "asks");
    SAME(get("announce", "other", ""), "2 `version` is missing");
    SAME(get("other", "version", ""), "0 ");

    const auto suggest = [&](std::string_view argument, std::string_view prefix) {
        larder_argument_query query = {given("announce"), given(argument), given(prefix), {}};
        larder_suggestions found;
        if (!exports_larder_provider_prompt_provider_complete_argument(&query, &found, &error)) return reason(error);
        const std::string text = std::to_string(found.values.len);
        exports_larder_provider_prompt_provider_suggestions_free(&found);
        return text;
    };
    SAME(suggest("version", "1."), "2");
    SAME(suggest("version", "bad"), "2 bad");
    SAME(suggest("tone", ""), "0");
    SAME(suggest("other", ""), "0 ");
}

void settings() {
    larder_declarations declared;
    exports_larder_provider_settings_provider_settings(&declared);
    TRUE(declared.len == 5 && declared.ptr[3].kind == 3 && declared.ptr[3].required && declared.ptr[4].secret);
    SAME(view(declared.ptr[0].default_.val), "x");
    exports_larder_provider_settings_provider_list_declaration_free(&declared);

    SAME(NAME.get().value(), "x");
    TRUE(!DEPTH.find().value() && ON.get().value());
    SAME(DEPTH.get().error().text, "setting `depth` is missing");
    SAME(SIZE.find().error().text, "setting `size` is missing");
    stub::settings = {{"name", "n"}, {"depth", "1.5"}, {"on", "false"}, {"size", "2KiB"}, {"wait", "1m 30s"}};
    SAME(NAME.get().value(), "n");
    TRUE(DEPTH.get().value() == 1.5 && !ON.get().value() && SIZE.get().value().bytes == 2048);
    TRUE(WAIT.get().value() == std::chrono::seconds(90));
    stub::settings["depth"] = "deep";
    SAME(DEPTH.get().error().text, "setting `depth`: \"deep\" is not a number");
    stub::settings["name"] = "";
    TRUE(NAME.get().value().empty() && larder::setting("name")->empty() && !larder::setting("other"));
    SAME(larder::setting("other", ""), "");
}

void host() {
    TRUE(!larder::caller());
    stub::has_caller = true;
    const auto caller = larder::caller();
    TRUE(caller->subject == "ada" && !caller->issuer && caller->team == "team" && caller->scopes.size() == 2);
    TRUE(larder::metadata() == larder::Metadata({{"example.org/a", "{}"}}));
    larder::warn("caf\xe9");
    SAME(stub::log, "2 caf?\n");
    larder::resource_updated("n:1"), larder::resources_changed(), larder::tools_changed(), larder::prompts_changed();
    larder::progress(1), larder::progress(1, 2, "half");
    larder::log_to_client(larder::Severity::warning, "{}", "notes");
    SAME(stub::notified, "n:1 resources tools prompts 1/ 1/2 half 3 notes {} ");
    TRUE(larder::client_supports("/elicitation") && !larder::client_supports(""));
    TRUE(larder::client_log_level() == larder::Severity::warning);
    TRUE(larder::time_left() == 5000 && !larder::cancelled());
    SAME(larder::read_file("/nowhere").error().text, "cannot read /nowhere: No such file or directory");
    TRUE(larder::read_file("/").error().kind == larder::ErrorKind::failed && larder::granted("/"));
    TRUE(larder::read_file("/dev/null").value().empty());
}

void http() {
    const auto text = [](int status) {
        stub::statuses = {status};
        // `and_then` is missing in the libraries of some compilers.
        larder::Result<larder::http::Response> found = larder::http::get("https://example.org");
        if (found) found = larder::http::accepted(*found);
        return found ? found->body : std::to_string(static_cast<int>(found.error().kind)) + found.error().text;
    };
    SAME(text(200), "body");
    SAME(text(204), "");
    SAME(text(404), "0the remote server responded with status 404");
    SAME(text(503), "4the remote server responded with status 503");
    SAME(text(0), "3not granted");
    stub::statuses = {200, 0, 500};
    const larder::http::Request put{
        .url = "https://example.org", .method = "PUT", .headers = {{"a", "b"}}, .body = "x", .timeout_ms = 5};
    const auto all = larder::http::send_all({put, put, put});
    TRUE(all.size() == 3 && all[0] && !all[1] && all[2]->status == 500);
    SAME(*all[0]->header("content-TYPE"), "text/plain");
    TRUE(!all[0]->header("content") && larder::http::send_all({}).empty());
}

void key_value() {
    const auto &bucket = larder::key_value::shared;
    for (const char *key : {"a/3", "a/1", "b", "a/2"}) TRUE(bucket.set(key, key).has_value());
    SAME(bucket.get("b").value().value(), "b");
    TRUE(!bucket.get("c").value() && bucket.keys("c").value().empty());
    TRUE((bucket.keys("a/").value() == std::vector<std::string>{"a/1", "a/2", "a/3"}));
    TRUE(!bucket.compare_and_swap("b", {}, "x").value() && !bucket.compare_and_swap("b", "a", "x").value());
    TRUE(bucket.compare_and_swap("b", "b", "").value());
    SAME(bucket.get("b").value().value(), "");
    TRUE(bucket.compare_and_swap("b", "", {}).value() && !bucket.get("b").value());
    TRUE(bucket.remove("a/1").has_value() && bucket.remove("a/1").has_value());
    TRUE(bucket.set("\xff", "").error().kind == larder::ErrorKind::failed);
    const auto failure = [](int of) {
        stub::failure = of;
        const larder::Error error = larder::key_value::caller.get("a").error();
        return std::to_string(static_cast<int>(error.kind)) + error.text;
    };
    SAME(failure(0), "3why");
    SAME(failure(1), "3values of a caller need a caller with a subject");
    SAME(failure(2), "5the key or the value is too long to be stored");
    SAME(failure(3), "5too many keys are stored");
    SAME(failure(4), "5the key-value store is full");
    SAME(failure(5), "4why");
}

void json() {
    const larder::Json json(R"({"a":{"b":[1,"x",true,null]},"t":"é\n"})");
    TRUE(json.number("a.b.0") == 1 && json.text("a.b.1") == "x" && json.boolean("a.b.2") == true);
    TRUE(!json.text("a.b.3") && !json.number("a.b.1") && !json.boolean("a") && !json.find("c"));
    SAME(json.find("a.b")->raw(), "[1,\"x\",true,null]");
    SAME(*json.text("t"), "é\n");
    TRUE(!larder::Json().find("") && !larder::Json("{").text("a") && !larder::Json("\"\\ud83d\"").text(""));
    SAME(larder::quote("a\"\\\n"), "\"a\\\"\\\\\\u000a\"");
    SAME(larder::quote(""), "\"\"");
}

void long_lists() {
    int created = 0;
    const auto number = [](int n) { return "n:" + std::to_string(100000 + n); };
    const auto entries_after = [&](std::optional<std::string_view> cursor) {
        const int first = cursor ? std::stoi(std::string(cursor->substr(2))) - 100000 + 1 : 0;
        return std::views::iota(first, 50000) | std::views::transform([&, number](int n) {
                   created++;
                   return larder::Entry{.uri = number(n), .name = "x"};
               });
    };
    const std::string cursor = number(40000);
    larder::Page<larder::Entry> page = larder::paginate(entries_after, {.cursor = cursor, .limit = 3});
    TRUE(page.items.size() == 3 && created == 4);
    SAME(page.items.front().uri, number(40001));
    SAME(*page.next_cursor, number(40003));
    const std::string last = number(49999);
    page = larder::paginate(entries_after, {.cursor = last, .limit = 3});
    TRUE(page.items.empty() && !page.next_cursor);
    TRUE(larder::paginate(entries_after, {.limit = 2}).items.back().uri == number(1));

    // Entries that the provider stores are copied.
    const std::vector<larder::Entry> stored = {{.uri = "a:1", .name = "one"}};
    std::vector<larder::Entry> own = stored;
    const auto all = [&](auto) { return std::views::all(own); };
    TRUE(larder::paginate(all, {.limit = 1}).items.size() == 1 && own[0].name == "one");
}

}  // namespace

int main() {
    lists();
    long_lists();
    reads();
    matches_uris();
    optional_interfaces();
    tools();
    prompts();
    settings();
    host();
    http();
    key_value();
    json();
    return failures > 0;
}
