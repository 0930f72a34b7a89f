// @NAME@: an example provider that serves greetings. Replace them with your own resources.
//
// What a function returns is copied for the host. What it receives are views of memory that is valid until it returns.

#include "larder.hpp"

// Choose any URIs. Clients see them unchanged.
constexpr auto HELLO = "@NAME@://hello";
constexpr auto HELLO_WHO = "@NAME@://hello/{who}";

// Returns whom a request greets.
static std::optional<std::string> greeted(const larder::Request &request) {
  if (request.uri == HELLO) return "world";
  // The decoded value of the variable; none if no template matched the URI.
  return request.var("who");
}

class Greetings : public larder::Provider {
 public:
  larder::Description describe() override {
    // Shown to users in lists. The summary also tells a model when to use this provider.
    return {.title = "Greetings", .summary = "Says hello."};
  }

  larder::Result<larder::Page<larder::Entry>> list(const larder::Query &query) override {
    // The resources, sorted by URI.
    return larder::paginate({{.uri = HELLO, .name = "hello", .mime_type = "text/plain"}}, query);
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
    // Settings come from the operator's larder.toml: [provider.@NAME@] settings = { greeting = "Hi" }
    const std::string text = larder::setting("greeting", "Hello") + ", " + *who + "!\n";
    return larder::Reading{{{.body = text, .mime_type = "text/plain"}}};
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
