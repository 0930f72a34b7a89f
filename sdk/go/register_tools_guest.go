//go:build wasip1

package provider

// Implements the exported functions for tools.

import (
	"larder.dev/provider/internal/asked"
	types "larder.dev/provider/internal/bindings/larder_provider_provider_types"
	tools "larder.dev/provider/internal/bindings/larder_provider_tool_provider"
	wit "larder.dev/provider/internal/wit/types"
)

func registerTools(provider ToolProvider) {
	asked.ListTools = func(cursor wit.Option[string]) wit.Result[tools.ToolPage, types.Error] {
		return toResult("ListTools", func() (tools.ToolPage, error) { return listTools(provider, cursor) })
	}
	asked.CallTool = func(call tools.ToolCall) wit.Result[tools.ToolAnswer, types.Error] {
		return toResult("CallTool", func() (tools.ToolAnswer, error) { return callTool(provider, call) })
	}
}

func listTools(provider ToolProvider, cursor wit.Option[string]) (tools.ToolPage, error) {
	page, err := provider.ListTools(cursor.SomeOr(""))
	if err := checkAll(err, within("ListTools: ", page.check())); err != nil {
		return tools.ToolPage{}, err
	}
	return tools.ToolPage{
		Tools:      mapSlice(page.Tools, contractTool),
		NextCursor: option(page.NextCursor),
		Freshness:  freshness(page.Freshness),
	}, nil
}

func contractTool(tool Tool) tools.Tool {
	input := tool.InputSchema.Text
	if input == "" {
		input = `{"type":"object"}`
	}
	return tools.Tool{
		Name:         tool.Name,
		Title:        option(tool.Title),
		Description:  option(tool.Description),
		InputSchema:  valid(input),
		OutputSchema: option(tool.OutputSchema.Text),
		Hints: tools.Hints{
			ReadOnly:    optionFrom(tool.Hints.ReadOnly),
			Destructive: optionFrom(tool.Hints.Destructive),
			Idempotent:  optionFrom(tool.Hints.Idempotent),
			OpenWorld:   optionFrom(tool.Hints.OpenWorld),
			LongRunning: optionFrom(tool.Hints.LongRunning),
		},
		Icons:    mapSlice(tool.Icons, contractIcon),
		Metadata: tuples(tool.Metadata),
	}
}

func callTool(provider ToolProvider, call tools.ToolCall) (tools.ToolAnswer, error) {
	result, err := provider.CallTool(ToolCall{call.Name, call.Arguments, inputFrom(call.Input)})
	if err != nil {
		required, err := requested(err)
		return tools.MakeToolAnswerInputRequired(required), err
	}
	if err := result.check(); err != nil {
		return tools.ToolAnswer{}, within("CallTool: ", err)
	}
	structured := ""
	if result.Structured != nil {
		if structured, err = jsonText(result.Structured); err != nil {
			return tools.ToolAnswer{}, within("CallTool: Structured: ", err)
		}
	}
	return tools.MakeToolAnswerComplete(tools.ToolResult{
		Content:    mapSlice(result.Content, contractBlock),
		Structured: option(structured),
		IsError:    result.IsError,
		Metadata:   tuples(result.Metadata),
	}), nil
}
