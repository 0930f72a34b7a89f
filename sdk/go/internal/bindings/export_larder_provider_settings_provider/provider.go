// Package export_larder_provider_settings_provider is what the generated code calls; its name is given.
package export_larder_provider_settings_provider

import (
	"larder.dev/provider/internal/asked"
	settings "larder.dev/provider/internal/bindings/larder_provider_settings_provider"
)

func Settings() []settings.Declaration { return asked.Settings() }
