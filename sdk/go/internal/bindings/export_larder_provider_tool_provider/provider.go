// Package export_larder_provider_tool_provider is what the generated code calls; its name is given.
package export_larder_provider_tool_provider

import (
	"larder.dev/provider/internal/asked"
	tools "larder.dev/provider/internal/bindings/larder_provider_tool_provider"
	witTypes "larder.dev/provider/internal/wit/types"
)

func ListTools(cursor witTypes.Option[string]) witTypes.Result[tools.ToolPage, asked.Error] {
	return asked.ListTools(cursor)
}

func CallTool(call tools.ToolCall) witTypes.Result[tools.ToolAnswer, asked.Error] {
	return asked.CallTool(call)
}
