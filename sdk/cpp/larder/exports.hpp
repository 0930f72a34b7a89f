// The functions that the C SDK calls, for one provider. `LARDER_PROVIDER(Notes)` defines them in one source file.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lift.hpp"
#include "lower.hpp"
#include "provider.hpp"

namespace larder::exports {

// Sets the result of a function, or its error.
template <class T, class C>
bool answer(const Result<T> &result, C *to, larder_error *error) {
    if (!result) return lower(result.error(), error);
    lower(*result, *to);
    return true;
}

inline std::optional<std::string_view> cursor(const provider_string_t *given) {
    if (!given) return std::nullopt;
    return detail::view(*given);
}

inline void describe(Provider &provider, larder_description *about) {
    Description description = provider.describe();
    // `match_uri` is called only for URIs within the claims.
    for (const std::string &uri_template : provider.greedy())
        description.claims.push_back(uri_template.substr(0, uri_template.find('{')));
    lower(description, *about);
}

inline bool list(Provider &provider, larder_query *query, larder_entry_page *page, larder_error *error) {
    const detail::Owned owned(query, exports_larder_provider_resource_provider_list_query_free);
    return answer(provider.list(detail::lift(*query)), page, error);
}

inline bool templates(Provider &provider, provider_string_t *given, larder_template_page *page, larder_error *error) {
    const detail::Owned owned(given, provider_string_free);
    return answer(provider.templates(cursor(given)), page, error);
}

inline bool match_uri(Provider &provider, provider_string_t *uri, larder_match *match) {
    const detail::Owned owned(uri, provider_string_free);
    const std::optional<Match> found = provider.match_uri(detail::view(*uri));
    if (found) lower(*found, *match);
    return found.has_value();
}

inline bool read(Provider &provider, larder_request *request, larder_reading *reading, larder_error *error) {
    const detail::Owned owned(request, exports_larder_provider_resource_provider_read_request_free);
    return answer(provider.read(detail::lift(*request)), reading, error);
}

#ifdef LARDER_WITH_COMPLETIONS
inline bool complete(Provider &provider, larder_completion_request *request, larder_completion *found,
                     larder_error *error) {
    const detail::Owned owned(request, exports_larder_provider_completion_provider_completion_request_free);
    const CompletionRequest lifted{detail::view(request->uri_template), detail::view(request->variable),
                                   detail::view(request->prefix), detail::view(request->filled)};
    return answer(provider.complete(lifted), found, error);
}
#endif

#ifdef LARDER_WITH_VERSIONS
inline bool versions(Provider &provider, provider_list_string_t *uris, provider_list_option_string_t *found,
                     larder_error *error) {
    const detail::Owned owned(uris, provider_list_string_free);
    std::vector<std::string_view> views;
    for (std::size_t at = 0; at < uris->len; at++) views.push_back(detail::view(uris->ptr[at]));
    return answer(provider.versions(views), found, error);
}
#endif

#ifdef LARDER_WITH_SEARCH
inline bool search(Provider &provider, larder_search_query *query, larder_hits *found, larder_error *error) {
    const detail::Owned owned(query, exports_larder_provider_search_provider_search_query_free);
    const SearchQuery lifted{detail::view(query->text), query->limit, detail::view(query->uri_prefix),
                             detail::view(query->kind)};
    return answer(provider.search(lifted), found, error);
}
#endif

#ifdef LARDER_WITH_SETTINGS
inline void settings(Provider &provider, larder_declarations *declarations) {
    lower(provider.settings(), *declarations);
}
#endif

}  // namespace larder::exports
