//go:build wasip1

package prompts

import _ "larder.dev/provider/internal/bindings/wit_exports_prompt_provider"
