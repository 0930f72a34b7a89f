package main

// The prompt, which a user selects.

import "larder.dev/provider"

var allPrompts = provider.Prompts{{
	Name:        "announce_release",
	Title:       "Announce a release",
	Description: "Writes an announcement of a release.",
	Arguments: []provider.Argument{
		{
			Name:        "version",
			Description: "The version to announce.",
			Required:    true,
			Complete: func(query provider.ArgumentQuery) (provider.Completion, error) {
				return completeVersion(query.Prefix)
			},
		},
		{
			Name:        "tone",
			Description: "Such as friendly or formal.",
			Complete: func(query provider.ArgumentQuery) (provider.Completion, error) {
				return provider.Matching([]string{"friendly", "formal"}, query.Prefix), nil
			},
		},
	},
	Get: announceRelease,
}}

func announceRelease(request provider.PromptRequest) (provider.PromptResult, error) {
	text, err := load()
	if err != nil {
		return provider.PromptResult{}, err
	}
	version, _ := request.Argument("version")
	release, found := find(releases(text), version)
	if !found {
		return provider.PromptResult{}, provider.Invalid("there is no release `%s`", version)
	}
	how := ""
	if tone, given := request.Argument("tone"); given {
		how = ", in a " + tone + " tone"
	}
	instruction := "Write an announcement of release " + version + " for its users" + how +
		". Name the most important change first."
	content := provider.EmbeddedBlock(allReleases+version, provider.Text(release.text, "text/markdown"))
	return provider.PromptResult{
		Description: "Announcement of release " + version,
		Messages: []provider.Message{
			{Role: provider.User, Content: provider.TextBlock(instruction)},
			{Role: provider.User, Content: content},
		},
	}, nil
}
