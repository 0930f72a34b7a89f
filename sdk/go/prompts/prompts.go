// Package prompts exports prompts that a user selects.
//
//	func init() { prompts.Register(provider.Prompts{…}) }
package prompts

import (
	"larder.dev/provider"
	"larder.dev/provider/internal/jsontext"
	"larder.dev/provider/internal/linked"
)

// Register exports the interface. Call it once, in an init function.
func Register(implementation provider.PromptProvider) {
	provider.RegisterPrompts(linked.Export{JSON: jsontext.Of}, implementation)
}
