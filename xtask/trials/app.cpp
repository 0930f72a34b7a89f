// Test provider with correct and faulty behaviour, selected by the URI. The same provider exists in seven languages.

#include <cstdio>
#include <cstdlib>

#include "larder.hpp"

constexpr auto PATH = "trial:///{path}";

static larder::Result<larder::Reading> text(std::string body) { return larder::Reading{{{.body = std::move(body)}}}; }

static larder::Result<larder::Reading> get(const char *setting) {
  const auto response = larder::http::get(larder::setting(setting, "")).and_then(larder::http::accepted);
  if (!response) return std::unexpected(response.error());
  return text(response->body);
}

class Trial : public larder::Provider {
  larder::Result<larder::Page<larder::Template>> templates(std::optional<std::string_view>) override {
    return larder::Page<larder::Template>{
        {{.uri_template = "trial://{what}", .name = "the behaviour"}, {.uri_template = PATH, .name = "a path"}}};
  }

  std::vector<std::string> greedy() override { return {PATH}; }

  larder::Result<larder::Reading> read(const larder::Request &request) override {
    if (const auto path = request.var("path")) return text(*path);
    const std::string what = request.var("what").value_or("");
    if (what == "revision") return text("first");
    if (what == "long") return larder::read_file("/folder/long.txt").and_then(text);
    if (what == "garbled") return larder::failed("no caf\xe9");
    if (what == "http") return get("granted");
    if (what == "elsewhere") return get("elsewhere");
    if (what == "raises") return larder::failed("no such luck");
    if (what == "ends") {
      std::fputs("last words\n", stderr);
      std::abort();
    }
    if (what == "eats") return text(std::string(256 << 20, 'x'));
    if (what == "spins")
      for (volatile int turn = 0;; turn = turn + 1);
    return larder::not_found();
  }
};

LARDER_PROVIDER(Trial);
