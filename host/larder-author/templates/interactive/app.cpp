// @NAME@: an example provider that serves greetings, with a tool, a prompt, a search and a setting. Replace them with
// your own.
//
// What a function returns is copied for the host. What it receives are views of memory that is valid until it returns.

#include "larder.hpp"

// Choose any URIs. Clients see them unchanged.
constexpr auto HELLO = "@NAME@://hello";
constexpr auto HELLO_WHO = "@NAME@://hello/{who}";

// In the operator's larder.toml: [provider.@NAME@] settings = { greeting = "Hi" }
constexpr larder::Setting<std::string> GREETING{
    .name = "greeting", .description = "The first word of a greeting.", .default_value = "Hello"};

static larder::Result<std::string> greet(std::string_view who) {
  const auto greeting = GREETING.get();
  if (!greeting) return std::unexpected(greeting.error());
  return *greeting + ", " + std::string(who) + "!";
}

// Returns whom a request greets.
static std::optional<std::string> greeted(const larder::Request &request) {
  if (request.uri == HELLO) return "world";
  // The decoded value of the variable; none if no template matched the URI.
  return request.var("who");
}

static larder::Entry hello() { return {.uri = HELLO, .name = "hello", .mime_type = "text/plain"}; }

class Greetings : public larder::Provider {
 public:
  larder::Description describe() override {
    // Shown to users in lists. The summary also tells a model when to use this provider.
    return {.title = "Greetings", .summary = "Says hello."};
  }

  std::vector<larder::Declaration> settings() override { return {GREETING}; }

  larder::Result<larder::Page<larder::Entry>> list(const larder::Query &query) override {
    // The resources, sorted by URI.
    return larder::paginate({hello()}, query);
  }

  larder::Result<larder::Page<larder::Template>> templates(std::optional<std::string_view>) override {
    // URI templates, for resources that are too many to list.
    const larder::Template greeting{.uri_template = HELLO_WHO, .name = "a greeting", .mime_type = "text/plain"};
    return larder::Page<larder::Template>{{greeting}};
  }

  larder::Result<larder::Reading> read(const larder::Request &request) override {
    const auto who = greeted(request);
    // Return the errors of the SDK. There are no exceptions.
    if (!who) return larder::not_found();
    const auto text = greet(*who);
    if (!text) return std::unexpected(text.error());
    return larder::Reading{{{.body = *text + "\n", .mime_type = "text/plain"}}};
  }

  larder::Result<larder::Hits> search(const larder::SearchQuery &query) override {
    // The best hits first. The host merges those of all providers. This one compares the case of letters.
    const auto text = greet("world");
    if (!text) return std::unexpected(text.error());
    if (!text->contains(query.text)) return larder::Hits();
    return larder::Hits{{{.entry = hello(), .excerpt = *text}}};
  }

  std::vector<larder::Tool> tools() override {
    // Functions that a model may call. The host checks the arguments with the schema.
    return {{
        .name = "greet",
        .title = "Greet somebody",
        .description = "Returns a greeting.",
        .input_schema = R"({"type":"object","required":["who"],
            "properties":{"who":{"type":"string","description":"Who is greeted."}}})",
        .hints = {.read_only = true, .idempotent = true, .open_world = false},
        .call = [](const larder::ToolCall &call) -> larder::Result<larder::ToolAnswer> {
          const auto text = greet(call.arguments.text("who").value_or(""));
          if (!text) return std::unexpected(text.error());
          return larder::ToolResult::text(*text);
        },
    }};
  }

  std::vector<larder::Prompt> prompts() override {
    // Prompts, which a user selects.
    const larder::Argument who{
        .name = "who",
        .description = "Who is welcomed.",
        .required = true,
        // Suggestions for the argument: those that begin with the text that was typed.
        .complete = [](const auto &query) { return larder::matching({"Ada", "Grace"}, query.prefix); },
    };
    return {{
        .name = "welcome",
        .title = "Write a welcome",
        .description = "Asks for a letter that welcomes somebody.",
        .arguments = {who},
        .get = [](const larder::PromptRequest &request) -> larder::Result<larder::PromptAnswer> {
          const std::string who(*request.argument("who"));
          const auto text = greet(who);
          if (!text) return std::unexpected(text.error());
          const auto letter = "Write a short letter that welcomes " + who + ". Begin with: " + *text;
          return larder::PromptResult{{{.content = {letter}}}};
        },
    }};
  }
};

LARDER_PROVIDER(Greetings);

#ifdef LARDER_NATIVE
// `make native-test` compiles this file as a program for this machine, with a stand-in for the host.

#include <cassert>
#include <cstdio>

int main() {
  const char *ada[] = {"who", "Ada", nullptr};
  int error = 0;
  assert(larder_test_read(HELLO, nullptr, nullptr, &error) == std::string("Hello, world!\n"));
  assert(larder_test_read("@NAME@://hello/Ada", HELLO_WHO, ada, &error) == std::string("Hello, Ada!\n"));
  assert(!larder_test_read("@NAME@://nothing", nullptr, nullptr, &error) && error == LARDER_NOT_FOUND);
  std::puts("the functions return greetings");
}
#endif
