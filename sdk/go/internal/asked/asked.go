// Package asked holds what was registered. The generated code calls the functions of three packages, which call
// these; the public package sets them, and could not be imported from there.
package asked

import (
	completions "larder.dev/provider/internal/bindings/larder_provider_completion_provider"
	"larder.dev/provider/internal/bindings/larder_provider_provider_types"
	resources "larder.dev/provider/internal/bindings/larder_provider_resource_provider"
	witTypes "larder.dev/provider/internal/wit/types"
)

// Error is the contract's.
type Error = larder_provider_provider_types.Error

// What the host may ask. Set before the first call.
var (
	Describe      func() resources.Description
	ListResources func(resources.ListQuery) witTypes.Result[resources.EntryPage, Error]
	ListTemplates func(witTypes.Option[string]) witTypes.Result[resources.TemplatePage, Error]
	MatchUri      func(string) witTypes.Option[resources.TemplateMatch]
	ReadResource  func(resources.ReadRequest) witTypes.Result[resources.Reading, Error]
	Complete      func(completions.CompletionRequest) witTypes.Result[completions.Completion, Error]
	Versions      func([]string) witTypes.Result[[]witTypes.Option[string], Error]
)
