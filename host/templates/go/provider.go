// Greetings. Put your own resources in their place.
//
// The package has the name by which the bindings look for it.
package export_larder_provider_resource_provider

import (
	host "@NAME@/bindings/larder_provider_provider_host"
	types "@NAME@/bindings/larder_provider_provider_types"
	resource "@NAME@/bindings/larder_provider_resource_provider"

	wit "go.bytecodealliance.org/pkg/wit/types"
)

// The URIs are yours to choose; clients see them as they are written here.
const (
	hello    = "@NAME@://hello"
	helloWho = "@NAME@://hello/{who}"
)

// Describe is what people read in lists, and what a model is told about when to use this.
func Describe() resource.Description {
	return resource.Description{Title: wit.Some("Greetings"), Summary: wit.Some("Says hello.")}
}

// ListResources is what there is, sorted by URI.
func ListResources(query resource.ListQuery) wit.Result[resource.EntryPage, types.Error] {
	entry := types.Entry{Uri: hello, Name: "hello", MimeType: wit.Some("text/plain")}
	return wit.Ok[resource.EntryPage, types.Error](resource.EntryPage{Entries: []types.Entry{entry}})
}

// ListTemplates is families of resources that are too many to list.
func ListTemplates(cursor wit.Option[string]) wit.Result[resource.TemplatePage, types.Error] {
	template := types.Template{UriTemplate: helloWho, Name: "a greeting", MimeType: wit.Some("text/plain")}
	return wit.Ok[resource.TemplatePage, types.Error](resource.TemplatePage{Templates: []types.Template{template}})
}

// MatchUri is asked only by providers that claim prefixes.
func MatchUri(uri string) wit.Option[resource.TemplateMatch] {
	return wit.None[resource.TemplateMatch]()
}

// ReadResource is what a URI holds.
func ReadResource(request resource.ReadRequest) wit.Result[resource.Reading, types.Error] {
	var who string
	switch {
	case request.Uri == hello:
		who = "world"
	case request.Matched.IsSome() && request.Matched.Some().UriTemplate == helloWho:
		// The values of the variables, decoded; this template has one.
		who = request.Matched.Some().Variables[0].F1
	default:
		return wit.Err[resource.Reading, types.Error](types.MakeErrorNotFound())
	}
	// Settings stand in the operator's larder.toml: [provider.@NAME@] settings = { greeting = "Hi" }
	text := host.Setting("greeting").SomeOr("Hello") + ", " + who + "!\n"
	content := types.Content{MimeType: wit.Some("text/plain"), Body: types.MakeBodyText(text)}
	return wit.Ok[resource.Reading, types.Error](resource.Reading{Contents: []types.Content{content}})
}
