package main

// The tools, which a model may call if the operator allows it.

import (
	"fmt"
	"strings"

	"larder.dev/provider"
	"larder.dev/provider/typed"
)

var reading = provider.Hints{ReadOnly: new(true), Idempotent: new(true), OpenWorld: new(false)}

// The schemas are derived from the types.
var allTools = provider.Tools{
	typed.Tool(provider.Tool{
		Name:         "compare_releases",
		Title:        "Compare releases",
		Description:  "Lists what changed after one release, up to and including another.",
		OutputSchema: typed.Schema[comparison](),
		Hints:        reading,
	}, compareReleases),
	typed.Tool(provider.Tool{
		Name:        "draft_release",
		Title:       "Draft a release",
		Description: "Turns the unreleased changes into a release, after asking for its version.",
		Hints:       reading,
	}, draftRelease),
}

type releaseRange struct {
	From string `json:"from" description:"The older version."`
	To   string `json:"to" description:"The newer version."`
}

type comparison struct {
	Changes []change `json:"changes"`
}

type change struct {
	Version string `json:"version"`
	Kind    string `json:"kind"`
	Item    string `json:"item"`
}

func compareReleases(given releaseRange, _ provider.ToolCall) (provider.ToolResult, error) {
	text, err := load()
	if err != nil {
		return provider.ToolResult{}, err
	}
	all := releases(text)
	for _, version := range []string{given.From, given.To} {
		if _, known := find(all, version); !known {
			known := strings.Join(versions(all), ", ")
			return provider.ToolError("There is no release `%s`. Known releases: %s.", version, known), nil
		}
	}
	changes := changesBetween(all, given)
	var lines []string
	for _, change := range changes {
		lines = append(lines, fmt.Sprintf("%s %s: %s", change.Version, change.Kind, change.Item))
	}
	if len(lines) == 0 {
		lines = append(lines, "Nothing changed.")
	}
	result := provider.ToolText(strings.Join(lines, "\n"))
	result.Structured = comparison{changes}
	return result, nil
}

// Returns the changes, newest first, as in the file.
func changesBetween(all []release, given releaseRange) []change {
	// Not nil, because that would be null in JSON.
	changes := []change{}
	from := position(all, given.From)
	for at := position(all, given.To); at < from; at++ {
		for _, section := range all[at].sections() {
			for _, item := range section.Items {
				changes = append(changes, change{all[at].version, section.Kind, item})
			}
		}
	}
	return changes
}

// What the user fills in.
type draft struct {
	Version string `json:"version" description:"Such as 1.2.0"`
}

// Asks for the version in a first call. The second call contains the answer.
func draftRelease(_ struct{}, call provider.ToolCall) (provider.ToolResult, error) {
	text, err := load()
	if err != nil {
		return provider.ToolResult{}, err
	}
	unreleased, found := find(releases(text), "Unreleased")
	if !found {
		return provider.ToolError("There is nothing to release."), nil
	}
	if call.Input == nil {
		form := typed.Form[draft]("version", "Which version is released?")
		return provider.ToolResult{}, provider.Ask([]byte(unreleased.digest()), form)
	}
	filled, accepted, err := typed.Accepted[draft](call.Input, "version")
	if err != nil {
		return provider.ToolResult{}, err
	}
	if !accepted {
		return provider.ToolText("No release was drafted."), nil
	}
	if string(call.Input.State) != unreleased.digest() {
		return provider.ToolError("The changelog has changed: draft again."), nil
	}
	_, rest, _ := strings.Cut(unreleased.text, "\n")
	return provider.ToolText("## [" + filled.Version + "]\n" + rest), nil
}
