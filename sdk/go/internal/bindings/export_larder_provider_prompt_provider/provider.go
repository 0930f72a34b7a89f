// Package export_larder_provider_prompt_provider is what the generated code calls; its name is given.
package export_larder_provider_prompt_provider

import (
	"larder.dev/provider/internal/asked"
	prompts "larder.dev/provider/internal/bindings/larder_provider_prompt_provider"
	witTypes "larder.dev/provider/internal/wit/types"
)

func ListPrompts(cursor witTypes.Option[string]) witTypes.Result[prompts.PromptPage, asked.Error] {
	return asked.ListPrompts(cursor)
}

func GetPrompt(request prompts.PromptRequest) witTypes.Result[prompts.PromptAnswer, asked.Error] {
	return asked.GetPrompt(request)
}

func CompleteArgument(query prompts.ArgumentQuery) witTypes.Result[prompts.Suggestions, asked.Error] {
	return asked.CompleteArgument(query)
}
