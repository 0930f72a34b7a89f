// Package export_larder_provider_resource_provider is what the generated code calls; its name is given.
package export_larder_provider_resource_provider

import (
	"larder.dev/provider/internal/asked"
	resources "larder.dev/provider/internal/bindings/larder_provider_resource_provider"
	witTypes "larder.dev/provider/internal/wit/types"
)

func Describe() resources.Description { return asked.Describe() }

func ListResources(query resources.ListQuery) witTypes.Result[resources.EntryPage, asked.Error] {
	return asked.ListResources(query)
}

func ListTemplates(cursor witTypes.Option[string]) witTypes.Result[resources.TemplatePage, asked.Error] {
	return asked.ListTemplates(cursor)
}

func MatchUri(uri string) witTypes.Option[resources.TemplateMatch] { return asked.MatchUri(uri) }

func ReadResource(request resources.ReadRequest) witTypes.Result[resources.Reading, asked.Error] {
	return asked.ReadResource(request)
}
