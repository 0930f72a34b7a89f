//go:build wasip1

package provider

// Implements the exported functions for prompts.

import (
	"larder.dev/provider/internal/asked"
	prompts "larder.dev/provider/internal/bindings/larder_provider_prompt_provider"
	types "larder.dev/provider/internal/bindings/larder_provider_provider_types"
	wit "larder.dev/provider/internal/wit/types"
)

func registerPrompts(provider PromptProvider) {
	asked.ListPrompts = func(cursor wit.Option[string]) wit.Result[prompts.PromptPage, types.Error] {
		return toResult("ListPrompts", func() (prompts.PromptPage, error) { return listPrompts(provider, cursor) })
	}
	asked.GetPrompt = func(request prompts.PromptRequest) wit.Result[prompts.PromptAnswer, types.Error] {
		return toResult("GetPrompt", func() (prompts.PromptAnswer, error) { return getPrompt(provider, request) })
	}
	asked.CompleteArgument = func(query prompts.ArgumentQuery) wit.Result[prompts.Suggestions, types.Error] {
		return toResult("CompleteArgument", func() (prompts.Suggestions, error) { return suggestions(provider, query) })
	}
}

func listPrompts(provider PromptProvider, cursor wit.Option[string]) (prompts.PromptPage, error) {
	page, err := provider.ListPrompts(cursor.SomeOr(""))
	if err := checkAll(err, within("ListPrompts: ", page.check())); err != nil {
		return prompts.PromptPage{}, err
	}
	return prompts.PromptPage{
		Prompts:    mapSlice(page.Prompts, contractPrompt),
		NextCursor: option(page.NextCursor),
		Freshness:  freshness(page.Freshness),
	}, nil
}

func contractPrompt(prompt Prompt) prompts.Prompt {
	argument := func(argument Argument) prompts.Argument {
		return prompts.Argument{
			Name:        argument.Name,
			Title:       option(argument.Title),
			Description: option(argument.Description),
			Required:    argument.Required,
		}
	}
	return prompts.Prompt{
		Name:        prompt.Name,
		Title:       option(prompt.Title),
		Description: option(prompt.Description),
		Arguments:   mapSlice(prompt.Arguments, argument),
		Icons:       mapSlice(prompt.Icons, contractIcon),
		Metadata:    tuples(prompt.Metadata),
	}
}

func getPrompt(provider PromptProvider, request prompts.PromptRequest) (prompts.PromptAnswer, error) {
	result, err := provider.GetPrompt(PromptRequest{request.Name, pairs(request.Arguments), inputFrom(request.Input)})
	if err != nil {
		required, err := requested(err)
		return prompts.MakePromptAnswerInputRequired(required), err
	}
	if err := result.check(); err != nil {
		return prompts.PromptAnswer{}, within("GetPrompt: ", err)
	}
	message := func(message Message) prompts.Message {
		return prompts.Message{Role: uint8(message.Role), Content: contractBlock(message.Content)}
	}
	return prompts.MakePromptAnswerComplete(prompts.PromptResult{
		Description: option(result.Description),
		Messages:    mapSlice(result.Messages, message),
		Metadata:    tuples(result.Metadata),
	}), nil
}

func suggestions(provider PromptProvider, query prompts.ArgumentQuery) (prompts.Suggestions, error) {
	found, err := provider.CompleteArgument(ArgumentQuery{query.Prompt, query.Argument, query.Prefix, pairs(query.Filled)})
	return prompts.Suggestions{
		Values: mapSlice(found.Values, valid), Total: optionFrom(found.Total), More: found.More,
	}, err
}
