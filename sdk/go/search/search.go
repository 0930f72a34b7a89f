// Package search exports search in the content of the provider.
package search

import (
	"larder.dev/provider"
	"larder.dev/provider/internal/linked"
)

// Register exports the interface. Call it once, in an init function.
func Register(searcher provider.Searcher) { provider.RegisterSearch(linked.Export{}, searcher) }
