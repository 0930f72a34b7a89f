// Package jsontext converts values to JSON.
package jsontext

import (
	"encoding/json"
	"strings"
)

// Of converts a value to JSON. In contrast to json.Marshal, it does not escape the characters of HTML.
func Of(value any) (string, error) {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return strings.TrimSuffix(text.String(), "\n"), err
}
