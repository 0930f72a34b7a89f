// Greetings. Put your own resources in their place.
package main

import "larder.dev/provider"

// The URIs are yours to choose; clients see them as they are written here.
const (
	hello    = "@NAME@://hello"
	helloWho = "@NAME@://hello/{who}"
)

type greetings struct{}

func init() { provider.Register(greetings{}) }

// It is a library, and this is never run.
func main() {}

// Describe is what people read in lists, and what a model is told about when to use this.
func (greetings) Describe() provider.Description {
	return provider.Description{Title: "Greetings", Summary: "Says hello."}
}

// List is what there is, sorted by URI.
func (greetings) List(query provider.Query) (provider.EntryPage, error) {
	return provider.Paginate([]provider.Entry{{URI: hello, Name: "hello", MimeType: "text/plain"}}, query), nil
}

// Templates are families of resources that are too many to list.
func (greetings) Templates(cursor string) (provider.TemplatePage, error) {
	one := provider.Template{URITemplate: helloWho, Name: "a greeting", MimeType: "text/plain"}
	return provider.TemplatePage{Templates: []provider.Template{one}}, nil
}

// Read is what a URI holds.
func (greetings) Read(request provider.Request) (provider.Reading, error) {
	// The value of the variable, decoded; not found where no template matches.
	who, err := request.Var("who")
	if request.URI == hello {
		who, err = "world", nil
	}
	if err != nil {
		return provider.Reading{}, err
	}
	// Settings stand in the operator's larder.toml: [provider.@NAME@] settings = { greeting = "Hi" }
	text := provider.Setting("greeting", "Hello") + ", " + who + "!\n"
	return provider.Reading{Contents: []provider.Content{provider.Text(text, "text/plain")}}, nil
}
