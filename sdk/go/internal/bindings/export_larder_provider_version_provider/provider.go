// Package export_larder_provider_version_provider is what the generated code calls; its name is given.
package export_larder_provider_version_provider

import (
	"larder.dev/provider/internal/asked"
	witTypes "larder.dev/provider/internal/wit/types"
)

func Versions(uris []string) witTypes.Result[[]witTypes.Option[string], asked.Error] {
	return asked.Versions(uris)
}
