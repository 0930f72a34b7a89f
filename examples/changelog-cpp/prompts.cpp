// The prompt, which a user selects.
#include "source.hpp"

// Writes the messages.
static larder::Result<larder::PromptAnswer> announce(const larder::PromptRequest &request) {
    const auto all = load();
    if (!all) return std::unexpected(all.error());
    const std::string version(request.argument("version").value_or(""));
    const Release *release = find(*all, version);
    if (!release) return larder::invalid("there is no release `" + version + "`");
    std::string text = "Write an announcement of release " + version + " for its users";
    if (const auto tone = request.argument("tone")) text.append(", in a ").append(*tone).append(" tone");
    const larder::Embedded embedded{.uri = RELEASES + version, .body = release->text, .mime_type = "text/markdown"};
    return larder::PromptResult{
        .messages = {{{text + ". Name the most important change first."}}, {{embedded}}},
        .description = "Announcement of release " + version,
    };
}

std::vector<larder::Prompt> changelog_prompts() {
    const larder::Argument version{
        .name = "version",
        .description = "The version to announce.",
        .required = true,
        .complete = [](const auto &query) { return complete_version(query.prefix); },
    };
    const larder::Argument tone{
        .name = "tone",
        .description = "Such as friendly or formal.",
        .complete = [](const auto &query) { return larder::matching({"friendly", "formal"}, query.prefix); },
    };
    return {{
        .name = "announce_release",
        .title = "Announce a release",
        .description = "Writes an announcement of a release.",
        .arguments = {version, tone},
        .get = announce,
    }};
}
