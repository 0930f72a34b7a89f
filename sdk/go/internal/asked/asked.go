// Package asked holds what was registered. The generated code calls the functions of several packages, which call
// these; the public package sets them, and could not be imported from there.
package asked

import (
	completions "larder.dev/provider/internal/bindings/larder_provider_completion_provider"
	prompts "larder.dev/provider/internal/bindings/larder_provider_prompt_provider"
	"larder.dev/provider/internal/bindings/larder_provider_provider_types"
	resources "larder.dev/provider/internal/bindings/larder_provider_resource_provider"
	search "larder.dev/provider/internal/bindings/larder_provider_search_provider"
	settings "larder.dev/provider/internal/bindings/larder_provider_settings_provider"
	tools "larder.dev/provider/internal/bindings/larder_provider_tool_provider"
	witTypes "larder.dev/provider/internal/wit/types"
)

// Error is the contract's.
type Error = larder_provider_provider_types.Error

// What the host may ask of every provider. Set before the first call.
var (
	Describe      func() resources.Description
	ListResources func(resources.ListQuery) witTypes.Result[resources.EntryPage, Error]
	ListTemplates func(witTypes.Option[string]) witTypes.Result[resources.TemplatePage, Error]
	MatchUri      func(string) witTypes.Option[resources.TemplateMatch]
	ReadResource  func(resources.ReadRequest) witTypes.Result[resources.Reading, Error]
	Complete      func(completions.CompletionRequest) witTypes.Result[completions.Completion, Error]
	Versions      func([]string) witTypes.Result[[]witTypes.Option[string], Error]
)

// What the host may ask if the interface is exported.
var (
	ListTools        func(witTypes.Option[string]) witTypes.Result[tools.ToolPage, Error]
	CallTool         func(tools.ToolCall) witTypes.Result[tools.ToolAnswer, Error]
	ListPrompts      func(witTypes.Option[string]) witTypes.Result[prompts.PromptPage, Error]
	GetPrompt        func(prompts.PromptRequest) witTypes.Result[prompts.PromptAnswer, Error]
	CompleteArgument func(prompts.ArgumentQuery) witTypes.Result[prompts.Suggestions, Error]
	Search           func(search.SearchQuery) witTypes.Result[search.Hits, Error]
	Settings         func() []settings.Declaration
)
