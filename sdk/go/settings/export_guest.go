//go:build wasip1

package settings

import _ "larder.dev/provider/internal/bindings/wit_exports_settings_provider"
