// Package export_larder_provider_search_provider is what the generated code calls; its name is given.
package export_larder_provider_search_provider

import (
	"larder.dev/provider/internal/asked"
	search "larder.dev/provider/internal/bindings/larder_provider_search_provider"
	witTypes "larder.dev/provider/internal/wit/types"
)

func Search(query search.SearchQuery) witTypes.Result[search.Hits, asked.Error] {
	return asked.Search(query)
}
