package provider

// Tests of the checks of what a provider returns.

import (
	"errors"
	"testing"
)

func TestChecksNameTheField(t *testing.T) {
	entry := Entry{URI: "n:1", Name: "1"}
	detailed := func(details Details) error {
		with := entry
		with.Details = &details
		return EntryPage{Entries: []Entry{entry, with}}.check()
	}
	block := func(block Block) error { return ToolResult{Content: []Block{TextBlock("a"), block}}.check() }
	tool := func(tool Tool) error { return ToolPage{Tools: []Tool{tool}}.check() }
	ask := func(requests ...InputRequest) error {
		var asked *inputRequired
		errors.As(Ask(nil, requests...), &asked)
		return asked.check()
	}
	for expected, err := range map[string]error{
		"":                               EntryPage{Entries: []Entry{entry}, NextCursor: "x"}.check(),
		"Entries[0].URI is empty":        EntryPage{Entries: []Entry{{Name: "1"}}}.check(),
		"Entries[0].Name is empty":       EntryPage{Entries: []Entry{{URI: "n:1"}}}.check(),
		`NextCursor "\xff" is not UTF-8`: EntryPage{NextCursor: "\xff"}.check(),
		"Entries[1].Details.Audience[1] is 7, which is not a Role":     detailed(Details{Audience: []Role{User, 7}}),
		"Entries[1].Details.Icons[0].Src is empty":                     detailed(Details{Icons: []Icon{{}}}),
		"Entries[1].Details.Icons[0].Theme is 9, which is not a Theme": detailed(Details{Icons: []Icon{{Src: "x:", Theme: 9}}}),
		"Templates[0].URITemplate is empty":                            TemplatePage{Templates: []Template{{Name: "a"}}}.check(),
		`Claims[0] "\xff" is not UTF-8`:                                Description{Claims: []string{"\xff"}}.check(),
		`Contents[0].URI "\xff" is not UTF-8`:                          Reading{Contents: []Content{{URI: "\xff"}}}.check(),
		"Tools[0].Name is empty":                                       tool(Tool{}),
		`Tools[0]."a": InputSchema: is not a JSON object`:              tool(Tool{Name: "a", InputSchema: Schema{Text: "[]"}}),
		`Tools[0]."b": OutputSchema: chan int has no JSON Schema`:      tool(Tool{Name: "b", OutputSchema: Schema{Err: errors.New("chan int has no JSON Schema")}}),
		"Content[1].Value is nil":                                      block(Block{}),
		"Content[1].Value.MimeType is empty":                           block(Block{Value: Image{}}),
		"Content[1].Value.URI is empty":                                block(Block{Value: Embedded{}}),
		"Content[1].Value.Name is empty":                               block(Block{Value: Link{Entry{URI: "n:1"}}}),
		"Content[1].Annotations.Audience[0] is 2, which is not a Role": block(Block{
			Value: BlockText("a"), Annotations: &Annotations{Audience: []Role{2}},
		}),
		"Prompts[0].Arguments[0].Name is empty":          PromptPage{Prompts: []Prompt{{Name: "p", Arguments: []Argument{{}}}}}.check(),
		"Messages[0].Role is 5, which is not a Role":     PromptResult{Messages: []Message{{Role: 5}}}.check(),
		"Messages[0].Content.Value is nil":               PromptResult{Messages: []Message{{}}}.check(),
		"Hits[0].Entry.URI is empty":                     SearchResult{Hits: []Hit{{}}}.check(),
		"Name is empty":                                  SettingDeclaration{}.check(),
		"Kind is 9, which is not a SettingKind":          SettingDeclaration{Name: "a", Kind: 9}.check(),
		"Ask without requests":                           ask(),
		"Ask: request 0: Key is empty":                   ask(InputRequest{}),
		`Ask: request 1: a request has the same Key "k"`: ask(InputRequest{Key: "k", Method: "m"}, InputRequest{Key: "k", Method: "m"}),
	} {
		actual := ""
		if err != nil {
			actual = err.Error()
		}
		if actual != expected {
			t.Errorf("got %q, want %q", actual, expected)
		}
	}
}

func TestSendAllReportsEachInvalidRequest(t *testing.T) {
	results := SendAll(HTTPRequest{Method: "GET", URL: "\xff"}, HTTPRequest{Method: "GET", URL: "https://x"})
	if toError(results[0].Err).reason != `URL "\xff" is not UTF-8` || toError(results[1].Err).kind != unavailable {
		t.Error(results)
	}
}
