// Package typed derives schemas from types: of the arguments of tools, of their results, and of forms.
package typed

import (
	"encoding/json"

	"larder.dev/provider"
)

// Tool returns the tool with a function whose arguments are a struct. Their schema is derived from the struct, see
// [Schema], unless the tool has one.
func Tool[Arguments any](
	tool provider.Tool, call func(Arguments, provider.ToolCall) (provider.ToolResult, error),
) provider.Tool {
	if tool.InputSchema == (provider.Schema{}) {
		tool.InputSchema = Schema[Arguments]()
	}
	tool.Call = func(given provider.ToolCall) (provider.ToolResult, error) {
		var arguments Arguments
		if err := json.Unmarshal([]byte(given.Arguments), &arguments); err != nil {
			return provider.ToolResult{}, provider.Invalid("arguments of `%s`: %v", given.Name, err)
		}
		return call(arguments, given)
	}
	return tool
}
