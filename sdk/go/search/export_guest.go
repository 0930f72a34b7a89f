//go:build wasip1

package search

import _ "larder.dev/provider/internal/bindings/wit_exports_search_provider"
