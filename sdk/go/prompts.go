package provider

import "larder.dev/provider/internal/linked"

// PromptProvider offers prompts that a user selects. Export it with the package prompts. [Prompts] implements it for a
// fixed list.
type PromptProvider interface {
	ListPrompts(cursor string) (PromptPage, error)
	// GetPrompt returns the messages of a prompt. To request input from the client, return [Ask].
	GetPrompt(PromptRequest) (PromptResult, error)
	// CompleteArgument suggests values for an argument; see [Matching].
	CompleteArgument(ArgumentQuery) (Completion, error)
}

// PromptPage is a page of prompts. The last page has no cursor.
type PromptPage struct {
	Prompts    []Prompt
	NextCursor string
	Freshness  *Freshness
}

// Prompt is a prompt that a user selects.
type Prompt struct {
	Name, Title, Description string
	Arguments                []Argument
	Icons                    []Icon
	// Metadata has JSON texts as its values.
	Metadata []Pair
	// Get is called by [Prompts], which checks before that required arguments are given.
	Get func(PromptRequest) (PromptResult, error)
}

// Argument is an argument of a prompt. Its value is a text.
type Argument struct {
	Name, Title, Description string
	Required                 bool
	// Complete is called by [Prompts]; nil for no suggestions.
	Complete func(ArgumentQuery) (Completion, error)
}

// PromptRequest is a request for a prompt.
type PromptRequest struct {
	Name      string
	Arguments []Pair
	// Input is nil in a first call, and contains the client's answers in the call after [Ask].
	Input *Input
}

// Argument returns the value of an argument; false if it is not given.
func (r PromptRequest) Argument(name string) (string, bool) {
	for _, pair := range r.Arguments {
		if pair.Key == name {
			return pair.Value, true
		}
	}
	return "", false
}

// PromptResult contains the messages of a prompt.
type PromptResult struct {
	Description string
	Messages    []Message
	// Metadata has JSON texts as its values.
	Metadata []Pair
}

// Message is one message of a prompt.
type Message struct {
	Role    Role
	Content Block
}

// ArgumentQuery is a request for suggestions.
type ArgumentQuery struct {
	Prompt, Argument string
	// Prefix is the text that has been typed so far.
	Prefix string
	// Filled are the arguments that are already filled in.
	Filled []Pair
}

// Prompts is a fixed list of prompts.
type Prompts []Prompt

// ListPrompts returns the prompts.
func (p Prompts) ListPrompts(string) (PromptPage, error) { return PromptPage{Prompts: p}, nil }

// GetPrompt calls the function of the prompt with this name.
func (p Prompts) GetPrompt(request PromptRequest) (PromptResult, error) {
	prompt, found := p.find(request.Name)
	if !found || prompt.Get == nil {
		return PromptResult{}, NotFound
	}
	for _, argument := range prompt.Arguments {
		if _, given := request.Argument(argument.Name); argument.Required && !given {
			return PromptResult{}, Invalid("`%s` is missing", argument.Name)
		}
	}
	return prompt.Get(request)
}

// CompleteArgument calls the function of the argument with this name.
func (p Prompts) CompleteArgument(query ArgumentQuery) (Completion, error) {
	prompt, _ := p.find(query.Prompt)
	for _, argument := range prompt.Arguments {
		if argument.Name != query.Argument {
			continue
		}
		if argument.Complete == nil {
			return Completion{}, nil
		}
		return argument.Complete(query)
	}
	return Completion{}, NotFound
}

func (p Prompts) find(name string) (Prompt, bool) {
	for _, prompt := range p {
		if prompt.Name == name {
			return prompt, true
		}
	}
	return Prompt{}, false
}

func (p PromptPage) check() error {
	return checkAll(checkEach("Prompts", p.Prompts, Prompt.check), checkText("NextCursor", p.NextCursor))
}

func (p Prompt) check() error {
	name := func(argument Argument) error { return checkID("Name", argument.Name) }
	return checkAll(checkID("Name", p.Name), checkEach("Arguments", p.Arguments, name), checkIcons(p.Icons))
}

func (r PromptResult) check() error {
	return checkEach("Messages", r.Messages, func(message Message) error {
		if message.Role > Assistant {
			return Failed("Role is %d, which is not a Role", message.Role)
		}
		return within("Content.", message.Content.check())
	})
}

// RegisterPrompts is called by the package prompts.
func RegisterPrompts(export linked.Export, provider PromptProvider) {
	jsonText = export.JSON
	registerPrompts(provider)
}
