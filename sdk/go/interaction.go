package provider

// Content of tool results and prompt messages, and requests for input from the client.

import (
	"fmt"
	"strings"
)

// Block is one piece of content of a tool result or a prompt message.
type Block struct {
	// Value is a [BlockText], [Image], [Audio], [Link] or [Embedded].
	Value       BlockValue
	Annotations *Annotations
	// Metadata has JSON texts as its values.
	Metadata []Pair
}

// BlockValue is the content of a [Block].
type BlockValue interface{ check() error }

// BlockText is a text.
type BlockText string

// Image is an image.
type Image struct {
	MimeType string
	Data     []byte
}

// Audio is a recording.
type Audio struct {
	MimeType string
	Data     []byte
}

// Link is a reference to a resource.
type Link struct{ Entry }

// Embedded is a resource with its content. Its URI is required.
type Embedded struct{ Content }

// Annotations of a block.
type Annotations struct {
	Audience []Role
	// Priority is from 0 (optional) to 1 (required).
	Priority *float64
	// LastModified is in RFC 3339.
	LastModified string
}

// TextBlock returns a block with a text.
func TextBlock(text string) Block { return Block{Value: BlockText(text)} }

// EmbeddedBlock returns a block with a resource.
func EmbeddedBlock(uri string, content Content) Block {
	content.URI = uri
	return Block{Value: Embedded{content}}
}

// Input contains the client's answers in the second call after [Ask].
type Input struct {
	Responses []InputResponse
	// State that was given to [Ask].
	State []byte
}

// InputResponse is the answer to an [InputRequest].
type InputResponse struct {
	Key string
	// Result is JSON; empty if the client could not answer.
	Result string
	// Error is JSON; empty if the client answered.
	Error string
}

// Response returns the answer to a request. It is false for a nil input, which is that of a first call.
func (i *Input) Response(key string) (InputResponse, bool) {
	if i != nil {
		for _, response := range i.Responses {
			if response.Key == key {
				return response, true
			}
		}
	}
	return InputResponse{}, false
}

// InputRequest is a request to the client. The package typed makes one for a form.
type InputRequest struct {
	// Key identifies the answer.
	Key string
	// Method is `elicitation/create`, or for legacy clients `sampling/createMessage` or `roots/list`.
	Method string
	// Params is converted to a JSON object with encoding/json. A json.RawMessage is JSON already.
	Params any
}

// Ask returns an error with which a tool or a prompt requests input. The client answers, and the host makes the call
// again with the answers and the state. Another guest may handle that call, so keep nothing in variables.
func Ask(state []byte, requests ...InputRequest) error { return &inputRequired{state, requests} }

type inputRequired struct {
	state    []byte
	requests []InputRequest
}

func (*inputRequired) Error() string {
	return "input was requested, which only tools and prompts can do"
}

func (r *inputRequired) check() error {
	if len(r.requests) == 0 {
		return Failed("Ask without requests")
	}
	keys := map[string]bool{}
	for at, request := range r.requests {
		path := fmt.Sprintf("Ask: request %d: ", at)
		err := checkAll(checkID("Key", request.Key), checkID("Method", request.Method))
		if err == nil && keys[request.Key] {
			err = Failed("a request has the same Key %q", request.Key)
		}
		if err != nil {
			return within(path, err)
		}
		keys[request.Key] = true
	}
	return nil
}

func checkBlocks(list string, blocks []Block) error { return checkEach(list, blocks, Block.check) }

func (b Block) check() error {
	if b.Value == nil {
		return Failed("Value is nil")
	}
	if b.Annotations != nil {
		if err := checkRoles(b.Annotations.Audience); err != nil {
			return within("Annotations.", err)
		}
	}
	return within("Value.", b.Value.check())
}

func (BlockText) check() error  { return nil }
func (i Image) check() error    { return checkID("MimeType", i.MimeType) }
func (a Audio) check() error    { return checkID("MimeType", a.MimeType) }
func (e Embedded) check() error { return checkID("URI", e.URI) }

// jsonText converts a value to JSON. It is set by the packages that export tools and prompts, so that other providers do
// not contain encoding/json.
var jsonText func(any) (string, error)

// jsonObject converts a value to a JSON object.
func jsonObject(field string, value any) (string, error) {
	text, err := jsonText(value)
	if err == nil && !isObject(text) {
		err = Failed("is not a JSON object")
	}
	return text, within(field+": ", err)
}

// isObject returns whether a JSON text is an object. The host checks whether it is JSON.
func isObject(text string) bool {
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, "{") && strings.HasSuffix(text, "}")
}
