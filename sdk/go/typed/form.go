package typed

import (
	"encoding/json"

	"larder.dev/provider"
)

// Form returns a request for a form that the user fills in, for [provider.Ask]. The fields of the struct are those of the
// form, see [Schema]. MCP allows texts, numbers and booleans. [Accepted] returns the answer.
func Form[Fields any](key, message string) provider.InputRequest {
	params := form{"form", message, Schema[Fields]()}
	return provider.InputRequest{Key: key, Method: "elicitation/create", Params: params}
}

type form struct {
	Mode            string          `json:"mode"`
	Message         string          `json:"message"`
	RequestedSchema provider.Schema `json:"requestedSchema"`
}

// Accepted returns the content of a form that the user filled in, in the call after [provider.Ask]. It is false if the user
// declined or cancelled, or if the client could not show the form.
func Accepted[Fields any](input *provider.Input, key string) (Fields, bool, error) {
	var filled struct {
		Action  string
		Content Fields
	}
	response, found := input.Response(key)
	if !found || response.Result == "" {
		return filled.Content, false, nil
	}
	if err := json.Unmarshal([]byte(response.Result), &filled); err != nil {
		return filled.Content, false, provider.Invalid("the answer to `%s`: %v", key, err)
	}
	return filled.Content, filled.Action == "accept", nil
}
