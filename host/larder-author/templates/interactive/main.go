// An example provider that serves greetings, with a tool, a prompt, a search and a setting. Replace them with your own.
package main

import (
	"strings"

	"larder.dev/provider"
	"larder.dev/provider/prompts"
	"larder.dev/provider/search"
	"larder.dev/provider/settings"
	"larder.dev/provider/tools"
	"larder.dev/provider/typed"
)

// Choose any URIs. Clients see them unchanged.
const (
	hello    = "@NAME@://hello"
	helloWho = "@NAME@://hello/{who}"
)

// In the operator's larder.toml: [provider.@NAME@] settings = { greeting = "Hi" }
var greeting = provider.TypedSetting[string]{
	Name: "greeting", Description: "The first word of a greeting.", Default: "Hello",
}

var entry = provider.Entry{URI: hello, Name: "hello", MimeType: "text/plain"}

type greetings struct{}

func init() {
	provider.Register(greetings{})
	// Each of these packages adds an interface to the component.
	tools.Register(greetTool)
	prompts.Register(welcomePrompt)
	search.Register(greetings{})
	settings.Register(greeting)
}

// The component is a library: main is never called.
func main() {}

// Describe returns the title and summary, which users see in lists. The summary also tells a model when to use this
// provider.
func (greetings) Describe() provider.Description {
	return provider.Description{Title: "Greetings", Summary: "Says hello."}
}

// List returns the resources, sorted by URI.
func (greetings) List(query provider.Query) (provider.EntryPage, error) {
	return provider.Paginate([]provider.Entry{entry}, query), nil
}

// Templates returns URI templates, for resources that are too many to list.
func (greetings) Templates(cursor string) (provider.TemplatePage, error) {
	one := provider.Template{URITemplate: helloWho, Name: "a greeting", MimeType: "text/plain"}
	return provider.TemplatePage{Templates: []provider.Template{one}}, nil
}

// Read returns the content of a URI.
func (greetings) Read(request provider.Request) (provider.Reading, error) {
	// Var returns the decoded value of a template variable, or a not-found error if no template matched.
	who, err := request.Var("who")
	if request.URI == hello {
		who, err = "world", nil
	}
	if err != nil {
		return provider.Reading{}, err
	}
	text, err := greet(who)
	return provider.Reading{Contents: []provider.Content{provider.Text(text+"\n", "text/plain")}}, err
}

// Search returns the best hits first. The host merges those of all providers.
func (greetings) Search(query provider.SearchQuery) (provider.SearchResult, error) {
	text, err := greet("world")
	if err != nil || !strings.Contains(strings.ToLower(text), strings.ToLower(query.Text)) {
		return provider.SearchResult{}, err
	}
	return provider.SearchResult{Hits: []provider.Hit{{Entry: entry, Excerpt: text}}}, nil
}

func greet(who string) (string, error) {
	word, err := greeting.Get()
	return word + ", " + who + "!", err
}

// The arguments of the tool. The host checks them with a schema of this type.
type greeted struct {
	Who string `json:"who" description:"Who is greeted."`
}

// A function that a model may call.
var greetTool = provider.Tools{
	typed.Tool(provider.Tool{
		Name:        "greet",
		Title:       "Greet somebody",
		Description: "Returns a greeting.",
		Hints:       provider.Hints{ReadOnly: new(true), Idempotent: new(true), OpenWorld: new(false)},
	}, func(given greeted, _ provider.ToolCall) (provider.ToolResult, error) {
		text, err := greet(given.Who)
		return provider.ToolText(text), err
	}),
}

// A prompt, which a user selects.
var welcomePrompt = provider.Prompts{{
	Name:        "welcome",
	Title:       "Write a welcome",
	Description: "Asks for a letter that welcomes somebody.",
	Arguments: []provider.Argument{{
		Name:        "who",
		Description: "Who is welcomed.",
		Required:    true,
		// Suggestions for the argument: those that begin with the text that was typed.
		Complete: func(query provider.ArgumentQuery) (provider.Completion, error) {
			return provider.Matching([]string{"Ada", "Grace"}, query.Prefix), nil
		},
	}},
	Get: welcome,
}}

func welcome(request provider.PromptRequest) (provider.PromptResult, error) {
	who, _ := request.Argument("who")
	first, err := greet(who)
	text := "Write a short letter that welcomes " + who + ". Begin with: " + first
	return provider.PromptResult{
		Messages: []provider.Message{{Role: provider.User, Content: provider.TextBlock(text)}},
	}, err
}
