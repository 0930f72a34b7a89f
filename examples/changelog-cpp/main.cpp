// Provides the releases of a changelog (keepachangelog.com) as resources. The same provider exists in seven languages.
#include <algorithm>

#include "source.hpp"

static const std::string RELEASE = RELEASES + "{version}";
static const std::string AS_JSON = RELEASES + "{version}/json";

static larder::Entry entry(const Release &release) {
    larder::Details details{.kind = "release"};
    if (release.date) details.last_modified = *release.date + "T00:00:00Z";
    return {
        .uri = RELEASES + release.version,
        .name = release.version,
        .title = "Release " + release.version,
        .mime_type = "text/markdown",
        .size = release.text.size(),
        .version = release.digest(),
        .details = details,
    };
}

// Formats version, date and changes as JSON.
static std::string as_json(const Release &release) {
    std::string json = R"({"version":)" + larder::quote(release.version) + R"(,"date":)";
    json += (release.date ? larder::quote(*release.date) : "null") + R"(,"changes":[)";
    bool first = true;
    for (const Changes &changes : changes_of(release)) {
        std::string items;
        for (const std::string &item : changes.items) items += (items.empty() ? "" : ",") + larder::quote(item);
        json += first ? "" : ",";
        json += R"({"kind":)" + larder::quote(changes.kind) + R"(,"items":[)" + items + "]}";
        first = false;
    }
    return json + "]}";
}

class Changelog : public larder::Provider {
public:
    // Describes the provider for people and for the model.
    larder::Description describe() override {
        return {
            .title = "Changelog",
            .version = "0.1.0",
            .summary = "the releases of a changelog",
            .instructions = "Read a release before you say what it changed.",
        };
    }

    // Settings of the operator. `larder check` knows their names and types.
    std::vector<larder::Declaration> settings() override { return {FILE_NAME}; }

    // Lists the releases, sorted by URI. With a version, the host detects changes without a read.
    larder::Result<larder::Page<larder::Entry>> list(const larder::Query &query) override {
        const auto all = load();
        if (!all) return std::unexpected(all.error());
        std::vector<larder::Entry> entries;
        for (const Release &release : *all) entries.push_back(entry(release));
        std::ranges::sort(entries, {}, &larder::Entry::uri);
        return larder::paginate(entries, query);
    }

    // Lists the templates. The host matches URIs with them and passes on the variables.
    larder::Result<larder::Page<larder::Template>> templates(std::optional<std::string_view>) override {
        return larder::Page<larder::Template>{{
            {.uri_template = RELEASE, .name = "release", .title = "A release", .mime_type = "text/markdown"},
            {.uri_template = AS_JSON,
             .name = "release-json",
             .title = "A release as JSON",
             .mime_type = "application/json"},
        }};
    }

    // Reads a release. After a "not found" error, the host tries other providers.
    larder::Result<larder::Reading> read(const larder::Request &request) override {
        const auto all = load();
        if (!all) return std::unexpected(all.error());
        const Release *release = find(*all, request.var("version").value_or(""));
        if (!release) return larder::not_found();
        if (request.knows(release->digest())) return larder::not_modified();
        larder::Content content{.body = release->text, .mime_type = "text/markdown"};
        if (request.matches(AS_JSON)) content = {.body = as_json(*release), .mime_type = "application/json"};
        return larder::Reading{{content}, release->digest()};
    }

    // Suggests values for the variables of the templates.
    larder::Result<larder::Completion> complete(const larder::CompletionRequest &request) override {
        if (request.variable != "version") return larder::not_found();
        return complete_version(request.prefix);
    }

    // Returns the current versions of resources with subscribers. Optional, but cheaper than reading them.
    larder::Result<std::vector<std::optional<std::string>>> versions(
        const std::vector<std::string_view> &uris) override {
        const auto all = load();
        if (!all) return std::unexpected(all.error());
        std::vector<std::optional<std::string>> found;
        for (std::string_view uri : uris) {
            uri.remove_prefix(uri.starts_with(RELEASES) ? RELEASES.size() : uri.size());
            if (uri.ends_with("/json")) uri.remove_suffix(5);
            const Release *release = find(*all, uri);
            found.push_back(release ? std::optional(release->digest()) : std::nullopt);
        }
        return found;
    }

    // Searches the texts of the releases. The host merges the results of all providers.
    larder::Result<larder::Hits> search(const larder::SearchQuery &query) override {
        const auto all = load();
        if (!all) return std::unexpected(all.error());
        larder::Hits found;
        for (const Release &release : *all) {
            const auto line = excerpt(release, query.text);
            const bool fits = line && found.hits.size() < query.limit && larder::matches(query, entry(release));
            if (fits) found.hits.push_back({entry(release), line});
        }
        return found;
    }

    std::vector<larder::Tool> tools() override { return changelog_tools(); }
    std::vector<larder::Prompt> prompts() override { return changelog_prompts(); }
};

LARDER_PROVIDER(Changelog);
