// The tools, which a model may call if the operator allows it.
#include "source.hpp"

static constexpr auto RANGE = R"({"type":"object","required":["from","to"],"properties":{
    "from":{"type":"string","description":"The older version."},
    "to":{"type":"string","description":"The newer version."}}})";

static constexpr auto COMPARISON = R"({"type":"object","required":["changes"],
    "properties":{"changes":{"type":"array","items":{"type":"object","required":["version","kind","item"],
    "properties":{"version":{"type":"string"},"kind":{"type":"string"},"item":{"type":"string"}}}}}})";

static constexpr auto FORM = R"({"type":"object","required":["version"],
    "properties":{"version":{"type":"string","description":"Such as 1.2.0"}}})";

static larder::ToolResult unknown(const std::vector<Release> &all, const std::string &version) {
    std::string known;
    for (const Release &release : all) known += (known.empty() ? "" : ", ") + release.version;
    return larder::ToolResult::error("There is no release `" + version + "`. Known releases: " + known + ".");
}

static larder::Result<larder::ToolAnswer> compare_releases(const larder::ToolCall &call) {
    const auto all = load();
    if (!all) return std::unexpected(all.error());
    // The host has validated the arguments.
    const std::string from = call.arguments.text("from").value_or(""), to = call.arguments.text("to").value_or("");
    const Release *older = find(*all, from), *newer = find(*all, to);
    if (!older || !newer) return unknown(*all, older ? to : from);
    // The releases above the older one are newer.
    std::string text, json;
    for (const Release *at = newer; at < older; at++)
        for (const Changes &changes : changes_of(*at))
            for (const std::string &item : changes.items) {
                text += (text.empty() ? "" : "\n") + at->version + " " + changes.kind + ": " + item;
                json += (json.empty() ? "" : ",") + (R"({"version":)" + larder::quote(at->version)) + R"(,"kind":)" +
                        larder::quote(changes.kind) + R"(,"item":)" + larder::quote(item) + "}";
            }
    return larder::ToolResult{
        .content = {{text.empty() ? "Nothing changed." : text}}, .structured = R"({"changes":[)" + json + "]}"};
}

// Asks for the version in a first call. The second call contains the answer.
static larder::Result<larder::ToolAnswer> draft_release(const larder::ToolCall &call) {
    const auto all = load();
    if (!all) return std::unexpected(all.error());
    const Release *unreleased = find(*all, "Unreleased");
    if (!unreleased) return larder::ToolResult::error("There is nothing to release.");
    if (!call.input) {
        const auto request = larder::elicit("version", "Which version is released?", FORM);
        return larder::InputRequired{{request}, unreleased->digest()};
    }
    const auto form = call.input->accepted("version");
    if (!form) return larder::ToolResult::text("No release was drafted.");
    if (call.input->state() != unreleased->digest())
        return larder::ToolResult::error("The changelog has changed: draft again.");
    const auto version = form->text("version");
    if (!version) return larder::invalid("the answer has no version");
    return larder::ToolResult::text("## [" + *version + "]" + unreleased->text.substr(unreleased->text.find('\n')));
}

std::vector<larder::Tool> changelog_tools() {
    // They only read, and only this changelog.
    const larder::Hints reading{.read_only = true, .idempotent = true, .open_world = false};
    return {
        {
            .name = "compare_releases",
            .title = "Compare releases",
            .description = "Lists what changed after one release, up to and including another.",
            .input_schema = RANGE,
            .output_schema = COMPARISON,
            .hints = reading,
            .call = compare_releases,
        },
        {
            .name = "draft_release",
            .title = "Draft a release",
            .description = "Turns the unreleased changes into a release, after asking for its version.",
            .hints = reading,
            .call = draft_release,
        },
    };
}
