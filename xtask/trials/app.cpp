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

static larder::Result<larder::Reading> keys_of(const larder::key_value::Bucket &bucket) {
  const auto keys = bucket.keys();
  if (!keys) return std::unexpected(keys.error());
  std::string all;
  for (const auto &key : *keys) all += (all.empty() ? "" : ",") + key;
  return text(all);
}

static larder::Result<larder::Reading> stores(const larder::key_value::Bucket &bucket) {
  for (const auto &[key, value] : {std::pair("a", "1"), std::pair("b", "2")})
    if (const auto set = bucket.set(key, value); !set) return std::unexpected(set.error());
  std::string swapped;
  for (const auto expected : {std::optional<std::string_view>("1"), std::optional<std::string_view>("2"),
                              std::optional<std::string_view>()}) {
    const auto done = bucket.compare_and_swap("b", expected, "3");
    swapped += done.value_or(false) ? " true" : " false";
  }
  const auto keys = bucket.keys();
  const auto b = bucket.get("b");
  const auto gone = bucket.compare_and_swap("b", "3", std::nullopt);
  const auto removed = bucket.remove("a");
  const auto rest = bucket.keys();
  if (!keys || keys->size() != 2 || !b || !gone || !removed || !rest) return larder::failed("the store failed");
  return text((*keys)[0] + "," + (*keys)[1] + " " + b->value_or("") + swapped + " " + std::to_string(rest->size()));
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
    if (what == "stores") return stores(larder::key_value::shared);
    if (what == "stores-own") return keys_of(larder::key_value::caller);
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
