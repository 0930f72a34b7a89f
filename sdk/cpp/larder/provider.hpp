// The class from which a provider derives. Only `read` is required. The functions of an optional interface exist after
// `larder bindings c --with NAME`, so that `override` is an error for an interface that is not exported.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "error.hpp"
#include "page.hpp"
#include "prompts.hpp"
#include "settings.hpp"
#include "tools.hpp"
#include "values.hpp"

namespace larder {

class Provider {
public:
    virtual ~Provider() = default;

    // Describes this provider for people and for the model.
    virtual Description describe() { return {}; }

    // Returns one page of the list of resources, sorted by URI; see `larder::paginate`.
    virtual Result<Page<Entry>> list(const Query &) { return Page<Entry>(); }

    // Returns the RFC 6570 templates. The cursor is none for the first page.
    virtual Result<Page<Template>> templates(std::optional<std::string_view>) { return Page<Template>(); }

    // Returns the templates whose last variable also matches slashes, so that `file:///{path}` matches `file:///a/b/c`.
    // They need no claims and no `match_uri`.
    virtual std::vector<std::string> greedy() { return {}; }

    // Matches a URI to a template. Called only for URIs within the claims that no template matches by the rules of RFC
    // 6570. The default matches the templates of `greedy`.
    virtual std::optional<Match> match_uri(std::string_view uri) {
        for (const std::string &uri_template : greedy())
            if (auto found = match_greedy(uri_template, uri)) return found;
        return std::nullopt;
    }

    // Reads a resource. After `larder::not_found()`, the host tries other providers.
    virtual Result<Reading> read(const Request &request) = 0;

#ifdef LARDER_WITH_COMPLETIONS
    // Suggests values for a variable of a template.
    virtual Result<Completion> complete(const CompletionRequest &) { return Completion(); }
#endif

#ifdef LARDER_WITH_VERSIONS
    // Returns the current version of each URI, in order; none if the resource does not exist or its version is known
    // only after a read. Implement it if versions are cheaper than reads.
    virtual Result<std::vector<std::optional<std::string>>> versions(const std::vector<std::string_view> &uris) {
        return std::vector<std::optional<std::string>>(uris.size());
    }
#endif

#ifdef LARDER_WITH_SEARCH
    // Searches in the content of this provider.
    virtual Result<Hits> search(const SearchQuery &) { return Hits(); }
#endif

#ifdef LARDER_WITH_TOOLS
    // Returns the tools. Called for each list and each call; `larder::tools_changed` announces a change.
    virtual std::vector<Tool> tools() { return {}; }
#endif

#ifdef LARDER_WITH_PROMPTS
    // Returns the prompts. Called for each list and each call; `larder::prompts_changed` announces a change.
    virtual std::vector<Prompt> prompts() { return {}; }
#endif

#ifdef LARDER_WITH_SETTINGS
    // Returns the declarations of the settings: `return {DEPTH, FOLDER};`
    virtual std::vector<Declaration> settings() { return {}; }
#endif
};

}  // namespace larder
