// The provider of the native tests. The URI or the name of a call selects what it returns.
#pragma once

#include "larder.hpp"

constexpr larder::Setting<std::string> NAME{.name = "name", .description = "A name.", .default_value = "x"};
constexpr larder::Setting<double> DEPTH{.name = "depth", .description = ""};
constexpr larder::Setting<bool> ON{.name = "on", .description = "d", .default_value = "true"};
constexpr larder::Setting<larder::Size> SIZE{.name = "size", .description = "d", .required = true};
constexpr larder::Setting<std::chrono::milliseconds> WAIT{.name = "wait", .description = "d", .secret = true};

// An entry with everything, including empty texts and lists.
inline larder::Entry full_entry() {
    const larder::Icon icon{
        .src = "x:", .mime_type = "image/png", .sizes = {"48x48", ""}, .theme = larder::Theme::dark};
    const larder::Details details{.kind = "note",
                                  .audience = {larder::Role::user, larder::Role::assistant},
                                  .priority = 0.5,
                                  .last_modified = "",
                                  .icons = {icon, {.src = "y:"}},
                                  .metadata = {{"a", "1"}, {"b", ""}}};
    return {.uri = "n:1",
            .name = "one",
            .title = "",
            .description = "d",
            .mime_type = "text/plain",
            .size = 7,
            .version = "v",
            .details = details};
}

inline larder::Block full_block() {
    return {.value = larder::Image{.mime_type = "image/png", .data = {1, 2, 3}},
            .annotations = larder::Annotations{.audience = {larder::Role::user}, .priority = 1, .last_modified = "x"},
            .metadata = {{"a", "1"}}};
}

class Notes : public larder::Provider {
public:
    larder::Description describe() override { return {.title = "Notes", .summary = "", .claims = {"n:"}}; }

    larder::Result<larder::Page<larder::Entry>> list(const larder::Query &query) override {
        if (query.limit == 0) return larder::invalid(std::string("no limit \xff"));
        if (query.kind == "none") return larder::Page<larder::Entry>();
        larder::Page<larder::Entry> page = larder::paginate({full_entry(), {.uri = "n:2", .name = "two"}}, query);
        page.freshness = larder::Freshness{.ttl_ms = 5, .scope = larder::Scope::caller};
        return page;
    }

    larder::Result<larder::Page<larder::Template>> templates(std::optional<std::string_view> cursor) override {
        return larder::Page<larder::Template>{
            {{.uri_template = "n:{id}", .name = "a note", .details = larder::Details{.kind = "note"}}},
            std::string(cursor.value_or("none"))};
    }

    std::vector<std::string> greedy() override { return {"file:///{path}", "git://{repo}/{path}"}; }

    larder::Result<larder::Reading> read(const larder::Request &request) override {
        if (request.uri == "n:bytes")
            return larder::Reading{{{.body = larder::Bytes{1, 2}, .uri = "n:2", .metadata = {{"a", "1"}}},
                                    {.body = larder::Bytes(), .mime_type = ""}}};
        if (request.uri == "n:wrong") return larder::Reading{{{.body = "\xff"}}};
        if (request.uri == "n:empty") return larder::failed("");
        if (request.knows("v")) return larder::not_modified();
        const auto id = request.var("id");
        if (!id) return larder::not_found();
        std::string text = *id + ";" + std::to_string(request.vars("tag").size()) + ";";
        for (const auto &[key, value] : request.map("at")) text.append(key).append("=").append(value).append(",");
        return larder::Reading{{{.body = text, .mime_type = "text/plain"}}, "v", larder::Freshness{.ttl_ms = 1}};
    }

    larder::Result<larder::Completion> complete(const larder::CompletionRequest &request) override {
        std::vector<std::string> candidates;
        for (int at = 0; at < 150; at++) candidates.push_back(std::string(request.variable) + std::to_string(at));
        return larder::matching(candidates, request.prefix);
    }

    larder::Result<std::vector<std::optional<std::string>>> versions(
        const std::vector<std::string_view> &uris) override {
        std::vector<std::optional<std::string>> found(uris.size());
        for (std::size_t at = 0; at < uris.size(); at++)
            if (uris[at] == "n:1") found[at] = "v";
        return found;
    }

    larder::Result<larder::Hits> search(const larder::SearchQuery &query) override {
        return larder::Hits{{{full_entry(), std::string(query.text)}, {{.uri = "n:2", .name = "two"}}}};
    }

    std::vector<larder::Declaration> settings() override { return {NAME, DEPTH, ON, SIZE, WAIT}; }

    std::vector<larder::Tool> tools() override;
    std::vector<larder::Prompt> prompts() override;
};

inline larder::Result<larder::ToolAnswer> echo(const larder::ToolCall &call) {
    if (call.arguments.boolean("fail")) return larder::ToolResult::error("it failed");
    const std::string text = call.arguments.text("text").value_or("none");
    return larder::ToolResult{
        .content = {{text}, full_block(), {full_entry()}, {larder::Audio{.mime_type = "audio/wav", .data = {}}},
                    {larder::Embedded{.uri = "n:1", .body = "x", .mime_type = "text/plain", .metadata = {{"a", "1"}}}},
                    {larder::Embedded{.uri = "n:2", .body = larder::Bytes{1}}}},
        .structured = "{\"text\":" + larder::quote(text) + "}",
        .metadata = {{"a", "1"}}};
}

inline larder::Result<larder::ToolAnswer> ask(const larder::ToolCall &call) {
    if (!call.input)
        return larder::InputRequired{{larder::elicit("form", "Which \"title\"?", R"({"type":"object"})"),
                                      larder::elicit_url("page", "m", "https://example.org"),
                                      larder::sample("text", "{}"), larder::roots("folders")},
                                     "state"};
    const auto form = call.input->accepted("form");
    if (!form) return larder::ToolResult::text("declined");
    const bool failed = !call.input->answer("page");
    return larder::ToolResult::text(form->text("title").value_or("") + std::string(call.input->state().value_or("")) +
                                    (failed ? " failed" : ""));
}

inline std::vector<larder::Tool> Notes::tools() {
    return {{.name = "echo",
             .title = "Echo",
             .description = "",
             .input_schema = R"({"type":"object"})",
             .output_schema = "{}",
             .hints = {.read_only = true, .destructive = false},
             .call = echo,
             .icons = {{.src = "x:"}},
             .metadata = {{"a", "1"}}},
            {.name = "ask", .call = ask},
            {.name = "nothing", .call = {}}};
}

inline std::vector<larder::Prompt> Notes::prompts() {
    const larder::Argument version{
        .name = "version",
        .title = "Version",
        .description = "d",
        .required = true,
        .complete = [](const larder::ArgumentQuery &query) -> larder::Result<larder::Completion> {
            if (query.prefix == "bad") return larder::invalid("bad");
            return larder::matching({"1.0", "1.1", "2.0"}, query.prefix);
        }};
    const auto get = [](const larder::PromptRequest &request) -> larder::Result<larder::PromptAnswer> {
        if (request.argument("tone") == "ask") return larder::InputRequired{{larder::roots("folders")}};
        const std::string text(*request.argument("version"));
        return larder::PromptResult{.messages = {{{text}}, {full_block(), larder::Role::assistant}},
                                    .description = "d",
                                    .metadata = {{"a", "1"}}};
    };
    return {{.name = "announce", .title = "Announce", .arguments = {version, {.name = "tone"}}, .get = get}};
}
