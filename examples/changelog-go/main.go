// Provides the releases of a changelog (keepachangelog.com) as resources. The same provider exists in seven languages.
package main

import (
	_ "embed"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"larder.dev/provider"
	"larder.dev/provider/prompts"
	"larder.dev/provider/search"
	"larder.dev/provider/settings"
	"larder.dev/provider/tools"
)

const (
	// The guest path of the granted folder: `dirs = [{ host = "docs", guest = "/changelog" }]`.
	folder      = "/changelog"
	allReleases = "changelog://releases/"
	oneRelease  = "changelog://releases/{version}"
	asJSON      = "changelog://releases/{version}/json"
)

// Used if no folder is granted.
//
//go:embed sample.md
var sample string

type changelog struct{}

// The setting that names the file. The host checks the configuration with this declaration.
var file = provider.TypedSetting[string]{
	Name:        "file",
	Description: "Name of the file in the folder that is granted as `/changelog`.",
	Default:     "CHANGELOG.md",
}

func init() {
	provider.Register(changelog{})
	// The imported packages add these interfaces to the component.
	tools.Register(allTools)
	prompts.Register(allPrompts)
	search.Register(changelog{})
	settings.Register(file)
}

// Required by Go, but never called.
func main() {}

// Describes the provider for people and for the model.
func (changelog) Describe() provider.Description {
	return provider.Description{
		Title:        "Changelog",
		Version:      "0.1.0",
		Summary:      "the releases of a changelog",
		Instructions: "Read a release before you say what it changed.",
	}
}

// Lists the releases, sorted by URI. With a version, the host detects changes without a read.
func (changelog) List(query provider.Query) (provider.EntryPage, error) {
	text, err := load()
	if err != nil {
		return provider.EntryPage{}, err
	}
	found := releases(text)
	slices.SortFunc(found, func(a, b release) int { return strings.Compare(a.version, b.version) })
	var entries []provider.Entry
	for _, release := range found {
		entries = append(entries, entry(release))
	}
	return provider.Paginate(entries, query), nil
}

// Lists the templates. The host matches URIs with them and passes on the variables.
func (changelog) Templates(string) (provider.TemplatePage, error) {
	return provider.TemplatePage{Templates: []provider.Template{
		{URITemplate: oneRelease, Name: "release", Title: "A release", MimeType: "text/markdown"},
		{URITemplate: asJSON, Name: "release-json", Title: "A release as JSON", MimeType: "application/json"},
	}}, nil
}

// Reads a release. After a "not found" error, the host tries other providers.
func (changelog) Read(request provider.Request) (provider.Reading, error) {
	version, err := request.Var("version")
	if err != nil {
		return provider.Reading{}, err
	}
	text, err := load()
	if err != nil {
		return provider.Reading{}, err
	}
	release, known := find(releases(text), version)
	if !known {
		return provider.Reading{}, provider.NotFound
	}
	if err := request.UnlessKnown(release.digest()); err != nil {
		return provider.Reading{}, err
	}
	content := provider.Text(release.text, "text/markdown")
	if request.Template() == asJSON {
		json, err := release.json()
		if err != nil {
			return provider.Reading{}, err
		}
		content = provider.Text(json, "application/json")
	}
	return provider.Reading{Contents: []provider.Content{content}, Version: release.digest()}, nil
}

// Suggests values for the variables of the templates.
func (changelog) Complete(request provider.CompletionRequest) (provider.Completion, error) {
	if request.Variable != "version" {
		return provider.Completion{}, provider.NotFound
	}
	return completeVersion(request.Prefix)
}

func completeVersion(prefix string) (provider.Completion, error) {
	text, err := load()
	if err != nil {
		return provider.Completion{}, err
	}
	return provider.Matching(versions(releases(text)), prefix), nil
}

func versions(all []release) []string {
	var versions []string
	for _, release := range all {
		versions = append(versions, release.version)
	}
	return versions
}

// Returns the current versions of resources with subscribers. Optional, but cheaper than reading them.
func (changelog) Versions(uris []string) ([]string, error) {
	text, err := load()
	if err != nil {
		return nil, err
	}
	digests := map[string]string{}
	for _, release := range releases(text) {
		digests[release.version] = release.digest()
	}
	var versions []string
	for _, uri := range uris {
		version := strings.TrimSuffix(strings.TrimPrefix(uri, allReleases), "/json")
		versions = append(versions, digests[version])
	}
	return versions, nil
}

// Searches in the texts of the releases.
func (changelog) Search(query provider.SearchQuery) (provider.SearchResult, error) {
	text, err := load()
	if err != nil {
		return provider.SearchResult{}, err
	}
	var hits []provider.Hit
	for _, release := range releases(text) {
		line, found := release.lineWith(query.Text)
		hit := provider.Hit{Entry: entry(release), Excerpt: line}
		if found && query.Wants(hit.Entry) && len(hits) < int(query.Limit) {
			hits = append(hits, hit)
		}
	}
	return provider.SearchResult{Hits: hits}, nil
}

func entry(release release) provider.Entry {
	details := provider.Details{Kind: "release"}
	if release.date != "" {
		details.LastModified = release.date + "T00:00:00Z"
	}
	return provider.Entry{
		URI:      allReleases + release.version,
		Name:     release.version,
		Title:    "Release " + release.version,
		MimeType: "text/markdown",
		Size:     provider.Size(len(release.text)),
		Version:  release.digest(),
		Details:  &details,
	}
}

// Loads the file in the granted folder, or the sample if no folder is granted. Other problems are returned as errors.
func load() (string, error) {
	name, err := file.Get()
	if err != nil {
		return "", err
	}
	path := folder + "/" + name
	if _, err := os.Stat(folder); err != nil {
		provider.LogInfo("%s is not granted: showing the sample", folder)
		return sample, nil
	}
	bytes, err := os.ReadFile(path)
	if err != nil {
		return "", provider.Failed("cannot read %s: %v", path, err)
	}
	if !utf8.Valid(bytes) {
		return "", provider.Failed("%s is not UTF-8", path)
	}
	return string(bytes), nil
}
