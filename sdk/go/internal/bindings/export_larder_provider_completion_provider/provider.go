// Package export_larder_provider_completion_provider is what the generated code calls; its name is given.
package export_larder_provider_completion_provider

import (
	"larder.dev/provider/internal/asked"
	completions "larder.dev/provider/internal/bindings/larder_provider_completion_provider"
	witTypes "larder.dev/provider/internal/wit/types"
)

func Complete(request completions.CompletionRequest) witTypes.Result[completions.Completion, asked.Error] {
	return asked.Complete(request)
}
