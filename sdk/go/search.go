package provider

import "larder.dev/provider/internal/linked"

// Searcher searches in the content of the provider. Export it with the package search. The host merges the results of all
// providers.
type Searcher interface {
	Search(SearchQuery) (SearchResult, error)
}

// SearchQuery is a search.
type SearchQuery struct {
	Text string
	// Limit is the maximum number of hits.
	Limit uint32
	// Hints; the host filters the hits again.
	URIPrefix, Kind string
}

// Wants returns whether an entry matches the hints of this query.
func (q SearchQuery) Wants(entry Entry) bool {
	return Query{URIPrefix: q.URIPrefix, Kind: q.Kind}.Wants(entry)
}

// SearchResult contains the hits of a search, best first.
type SearchResult struct {
	Hits      []Hit
	Freshness *Freshness
}

// Hit is an entry that matches.
type Hit struct {
	Entry Entry
	// Excerpt is a passage that shows why it matches.
	Excerpt string
}

func (r SearchResult) check() error {
	return checkEach("Hits", r.Hits, func(hit Hit) error { return within("Entry.", hit.Entry.check()) })
}

// RegisterSearch is called by the package search.
func RegisterSearch(_ linked.Export, searcher Searcher) { registerSearch(searcher) }
