//go:build wasip1

package tools

import _ "larder.dev/provider/internal/bindings/wit_exports_tool_provider"
