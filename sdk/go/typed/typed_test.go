package typed

// Native tests.

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"larder.dev/provider"
)

func TestSchemasAreDerivedFromTypes(t *testing.T) {
	type inner struct {
		Name string `json:"name" description:"The \"name\"." enum:"a,b"`
	}
	type all struct {
		inner
		Count  int            `json:"count,omitempty"`
		Size   uint8          `json:"-"`
		Rest   map[string]any `json:"rest"`
		Items  []inner        `json:"items"`
		Data   []byte         `json:"data"`
		Ratio  *float64       `json:"ratio"`
		When   time.Time      `json:"when"`
		Plain  bool
		hidden string
	}
	type recursive struct{ Next *recursive }
	check := func(schema provider.Schema, expected string) {
		if schema.Err != nil {
			schema.Text = "error: " + schema.Err.Error()
		}
		if schema.Text != expected {
			t.Errorf("got  %s\nwant %s", schema.Text, expected)
		}
	}
	name := `{"type":"string","description":"The \"name\".","enum":["a","b"]}`
	object := `{"type":"object","properties":{"name":` + name + `},"required":["name"]}`
	check(Schema[struct{}](), `{"type":"object"}`)
	check(Schema[all](), `{"type":"object","properties":{"name":`+name+`,"count":{"type":"integer"},`+
		`"rest":{"type":"object","additionalProperties":{}},"items":{"type":"array","items":`+object+`},`+
		`"data":{"type":"string","contentEncoding":"base64"},"ratio":{"type":"number"},"when":{},"Plain":{"type":"boolean"}},`+
		`"required":["name","rest","items","data","when","Plain"]}`)
	check(Schema[struct{ A []uint }](),
		`{"type":"object","properties":{"A":{"type":"array","items":{"type":"integer","minimum":0}}},"required":["A"]}`)
	check(Schema[recursive](),
		"error: recursive.Next: typed.recursive contains itself, so write its schema by hand")
	check(Schema[struct{ F func() }](), "error: .F: func() has no JSON Schema")
	_ = all{hidden: ""}
}

type sum struct {
	A int `json:"a"`
	B int `json:"b"`
}

func TestToolsAreCalledWithTypedArguments(t *testing.T) {
	tools := provider.Tools{Tool(provider.Tool{Name: "sum"}, func(given sum, _ provider.ToolCall) (provider.ToolResult, error) {
		return provider.ToolResult{Structured: given.A + given.B}, nil
	})}
	result, err := tools.CallTool(provider.ToolCall{Name: "sum", Arguments: `{"a":1,"b":2}`})
	if err != nil || result.Structured != 3 {
		t.Error(result, err)
	}
	if _, err := tools.CallTool(provider.ToolCall{Name: "sum", Arguments: `[]`}); err == nil || !strings.Contains(err.Error(), "arguments of `sum`: json:") {
		t.Error(err)
	}
	page, _ := tools.ListTools("")
	if !strings.Contains(page.Tools[0].InputSchema.Text, `"required":["a","b"]`) {
		t.Error(page)
	}
}

func TestFormsAreAskedAndAnswered(t *testing.T) {
	type name struct {
		Name string `json:"name"`
	}
	params, err := json.Marshal(Form[name]("who", "Who are you?").Params)
	expected := `{"mode":"form","message":"Who are you?","requestedSchema":` +
		`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}`
	if string(params) != expected || err != nil {
		t.Error(string(params), err)
	}
	check := func(result string, expected string, accepted, invalid bool) {
		input := &provider.Input{Responses: []provider.InputResponse{{Key: "who", Result: result}}}
		form, is, err := Accepted[name](input, "who")
		if form.Name != expected || is != accepted || (err != nil) != invalid {
			t.Error(result, form, is, err)
		}
	}
	check(`{"action":"accept","content":{"name":"Ada"}}`, "Ada", true, false)
	check(`{"action":"decline"}`, "", false, false)
	check(``, "", false, false)
	check(`{"action":"accept","content":{"name":1}}`, "", false, true)
	if _, is, err := Accepted[name](nil, "who"); is || err != nil {
		t.Error(is, err)
	}
}
