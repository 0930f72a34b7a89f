package provider

import (
	"fmt"

	"larder.dev/provider/internal/linked"
)

// ToolProvider offers functions that a model may call. Export it with the package tools. [Tools] implements it for a fixed
// list.
type ToolProvider interface {
	ListTools(cursor string) (ToolPage, error)
	// CallTool calls a tool. After [NotFound], the client is told that there is no such tool. To request input from the
	// client, return [Ask].
	CallTool(ToolCall) (ToolResult, error)
}

// ToolPage is a page of tools. The last page has no cursor.
type ToolPage struct {
	Tools      []Tool
	NextCursor string
	Freshness  *Freshness
}

// Tool is a function that a model may call.
type Tool struct {
	Name, Title, Description string
	// InputSchema is that of the arguments, an object. The zero value allows any object.
	InputSchema Schema
	// OutputSchema is that of [ToolResult.Structured].
	OutputSchema Schema
	Hints        Hints
	Icons        []Icon
	// Metadata has JSON texts as its values.
	Metadata []Pair
	// Call is called by [Tools]. The package typed makes one from a function with a struct of arguments.
	Call func(ToolCall) (ToolResult, error)
}

// Schema is a JSON Schema. The zero value is none. The package typed derives one from a type.
type Schema struct {
	// Text is JSON.
	Text string
	// Err is the reason why it could not be derived.
	Err error
}

// MarshalJSON returns the JSON text.
func (s Schema) MarshalJSON() ([]byte, error) { return []byte(s.Text), s.Err }

// Hints are properties that a client may assume. A nil value means unspecified.
type Hints struct {
	ReadOnly, Destructive, Idempotent, OpenWorld *bool
	// LongRunning means that the call may take long enough to be handled as a task.
	LongRunning *bool
}

// ToolCall is a call of a tool.
type ToolCall struct {
	Name string
	// Arguments is a JSON object, which the host validated against the schema.
	Arguments string
	// Input is nil in a first call, and contains the client's answers in the call after [Ask].
	Input *Input
}

// ToolResult is the result of a call. See [ToolText] and [ToolError].
type ToolResult struct {
	Content []Block
	// Structured is converted with encoding/json; nil for none. A json.RawMessage is JSON already.
	Structured any
	// IsError means that the tool failed, and that the content explains it to the model.
	IsError bool
	// Metadata has JSON texts as its values.
	Metadata []Pair
}

// ToolText returns a result with one text.
func ToolText(text string) ToolResult { return ToolResult{Content: []Block{TextBlock(text)}} }

// ToolError returns a result that explains to the model why the tool failed. In contrast to an error, the model can correct
// its arguments.
func ToolError(format string, a ...any) ToolResult {
	result := ToolText(fmt.Sprintf(format, a...))
	result.IsError = true
	return result
}

// Tools is a fixed list of tools.
type Tools []Tool

// ListTools returns the tools.
func (t Tools) ListTools(string) (ToolPage, error) { return ToolPage{Tools: t}, nil }

// CallTool calls the tool with this name.
func (t Tools) CallTool(call ToolCall) (ToolResult, error) {
	for _, tool := range t {
		if tool.Name == call.Name && tool.Call != nil {
			return tool.Call(call)
		}
	}
	return ToolResult{}, NotFound
}

func (p ToolPage) check() error {
	return checkAll(checkEach("Tools", p.Tools, Tool.check), checkText("NextCursor", p.NextCursor))
}

func (t Tool) check() error {
	if err := checkID("Name", t.Name); err != nil {
		return err
	}
	err := checkAll(t.InputSchema.check("InputSchema"), t.OutputSchema.check("OutputSchema"), checkIcons(t.Icons))
	return within(fmt.Sprintf("%q: ", t.Name), err)
}

func (s Schema) check(field string) error {
	if s == (Schema{}) {
		return nil
	}
	err := s.Err
	if err == nil && !isObject(s.Text) {
		err = Failed("is not a JSON object")
	}
	return within(field+": ", err)
}

func (r ToolResult) check() error { return checkBlocks("Content", r.Content) }

// RegisterTools is called by the package tools.
func RegisterTools(export linked.Export, provider ToolProvider) {
	jsonText = export.JSON
	registerTools(provider)
}
