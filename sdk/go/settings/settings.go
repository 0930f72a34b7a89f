// Package settings exports the declarations of settings, so that the host can check the configuration.
//
//	var file = provider.TypedSetting[string]{Name: "file", Description: "…"}
//
//	func init() { settings.Register(file) }
package settings

import (
	"larder.dev/provider"
	"larder.dev/provider/internal/linked"
)

// Register exports the interface. Call it once, in an init function.
func Register(declarers ...provider.SettingsDeclarer) {
	provider.RegisterSettings(linked.Export{}, declarers...)
}
