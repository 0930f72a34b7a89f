// An example provider that serves greetings. Replace them with your own resources.
package main

import "larder.dev/provider"

// Choose any URIs. Clients see them unchanged.
const (
	hello    = "@NAME@://hello"
	helloWho = "@NAME@://hello/{who}"
)

type greetings struct{}

func init() { provider.Register(greetings{}) }

// The component is a library: main is never called.
func main() {}

// Describe returns the title and summary, which users see in lists. The summary also tells a model when to use this
// provider.
func (greetings) Describe() provider.Description {
	return provider.Description{Title: "Greetings", Summary: "Says hello."}
}

// List returns the resources, sorted by URI.
func (greetings) List(query provider.Query) (provider.EntryPage, error) {
	return provider.Paginate([]provider.Entry{{URI: hello, Name: "hello", MimeType: "text/plain"}}, query), nil
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
	// Settings come from the operator's larder.toml: [provider.@NAME@] settings = { greeting = "Hi" }
	text := provider.Setting("greeting", "Hello") + ", " + who + "!\n"
	return provider.Reading{Contents: []provider.Content{provider.Text(text, "text/plain")}}, nil
}
