// Package tools exports tools: functions that a model may call.
//
//	func init() { tools.Register(provider.Tools{…}) }
package tools

import (
	"larder.dev/provider"
	"larder.dev/provider/internal/jsontext"
	"larder.dev/provider/internal/linked"
)

// Register exports the interface. Call it once, in an init function.
func Register(implementation provider.ToolProvider) {
	provider.RegisterTools(linked.Export{JSON: jsontext.Of}, implementation)
}
