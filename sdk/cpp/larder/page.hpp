// Pages of lists, completions, and templates whose last variable contains slashes.
#pragma once

#include <algorithm>
#include <concepts>
#include <iterator>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "larder.h"
#include "lift.hpp"
#include "values.hpp"

namespace larder {

// The maximum number of values in a completion, as specified by MCP.
inline constexpr std::size_t MAX_SUGGESTIONS = 100;

// Whether an entry matches the hints of a query: the prefix of the URI and the kind.
template <class Q>
bool matches(const Q &query, const Entry &entry) {
    if (query.uri_prefix && !entry.uri.starts_with(*query.uri_prefix)) return false;
    return !query.kind || (entry.details && entry.details->kind && *entry.details->kind == *query.kind);
}

namespace detail {

// Takes entries from a range that is sorted by URI until the page is full.
template <std::ranges::input_range R>
Page<Entry> take_page(R &&entries, const Query &query) {
    Page<Entry> page;
    for (auto &&entry : entries) {
        if ((query.cursor && entry.uri <= *query.cursor) || !matches(query, entry)) continue;
        if (page.items.size() == std::max<std::size_t>(query.limit, 1)) {
            page.next_cursor = page.items.back().uri;
            break;
        }
        page.items.push_back(std::forward<decltype(entry)>(entry));
    }
    return page;
}

}  // namespace detail

// Returns one page of a list that is sorted by URI: the entries after the query's cursor that match its hints. The
// cursor is the last URI of the page before. Each page is a call of its own, for which all entries have to be created
// again. For a long list, pass a function.
inline Page<Entry> paginate(std::vector<Entry> entries, const Query &query) {
    return detail::take_page(std::ranges::subrange(std::make_move_iterator(entries.begin()),
                                                   std::make_move_iterator(entries.end())),
                             query);
}

// Returns one page of a list. The function gets the query's cursor, and returns the entries that follow it, sorted by
// URI: all entries if there is no cursor. Only the entries of the page are created if it returns a view.
template <class F>
    requires std::invocable<F &, const decltype(Query::cursor) &>
Page<Entry> paginate(F entries_after, const Query &query) {
    return detail::take_page(entries_after(query.cursor), query);
}

// Returns the candidates that begin with the prefix.
inline Completion matching(const std::vector<std::string> &candidates, std::string_view prefix) {
    Completion found{.total = 0};
    for (const std::string &candidate : candidates) {
        if (!candidate.starts_with(prefix)) continue;
        if (found.values.size() < MAX_SUGGESTIONS) found.values.push_back(candidate);
        found.total = *found.total + 1;
    }
    found.more = *found.total > MAX_SUGGESTIONS;
    return found;
}

// Matches a URI with a template whose last variable matches the rest of the path, including slashes. It is meant for
// implementations of `match_uri`; otherwise `greedy` is sufficient.
inline std::optional<Match> match_greedy(const std::string &uri_template, std::string_view uri) {
    const provider_string_t text = detail::borrowed(uri);
    larder_match found = {};
    if (!larder_match_greedy(uri_template.c_str(), &text, &found)) return std::nullopt;
    const detail::Owned owned(&found, exports_larder_provider_resource_provider_template_match_free);
    return detail::copy(found);
}

}  // namespace larder
