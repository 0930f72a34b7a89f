//go:build wasip1

package provider

// Implements the exported functions for search and for settings.

import (
	"larder.dev/provider/internal/asked"
	types "larder.dev/provider/internal/bindings/larder_provider_provider_types"
	contract "larder.dev/provider/internal/bindings/larder_provider_search_provider"
	settings "larder.dev/provider/internal/bindings/larder_provider_settings_provider"
	wit "larder.dev/provider/internal/wit/types"
)

func registerSearch(searcher Searcher) {
	asked.Search = func(query contract.SearchQuery) wit.Result[contract.Hits, types.Error] {
		return toResult("Search", func() (contract.Hits, error) { return search(searcher, query) })
	}
}

func search(searcher Searcher, query contract.SearchQuery) (contract.Hits, error) {
	result, err := searcher.Search(SearchQuery{query.Text, query.Limit, query.UriPrefix.SomeOr(""), query.Kind.SomeOr("")})
	if err := checkAll(err, within("Search: ", result.check())); err != nil {
		return contract.Hits{}, err
	}
	hit := func(hit Hit) contract.Hit {
		return contract.Hit{Entry: contractEntry(hit.Entry), Excerpt: option(hit.Excerpt)}
	}
	return contract.Hits{Hits: mapSlice(result.Hits, hit), Freshness: freshness(result.Freshness)}, nil
}

func registerSettings(declared []SettingDeclaration) {
	asked.Settings = func() []settings.Declaration {
		var all []settings.Declaration
		for at, setting := range declared {
			// The function cannot return an error.
			if err := setting.check(); err != nil {
				LogError("setting %d is not declared: %v", at, err)
				continue
			}
			all = append(all, contractSetting(setting))
		}
		return all
	}
}

func contractSetting(setting SettingDeclaration) settings.Declaration {
	return settings.Declaration{
		Name:        setting.Name,
		Kind:        uint8(setting.Kind),
		Description: valid(setting.Description),
		Default:     option(setting.Default),
		Required:    setting.Required,
		Secret:      setting.Secret,
	}
}
