package main

// Parses a changelog. This file does not depend on Larder.

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"regexp"
	"slices"
	"strings"
)

type release struct {
	version, date, text string
}

// Matches `[1.0.0] - 2026-05-12` or `1.0.0`. The version must not need percent-encoding in a URI.
var title = regexp.MustCompile(`^(?:\[([A-Za-z0-9._~-]+)\]|([A-Za-z0-9._~-]+)(?: |$))[ -]*(?:(\d{4}-\d\d-\d\d)(?: |$))?`)

// Returns the releases in the order of the text. Each release extends from its `## ` line to the next one.
func releases(text string) []release {
	var found []release
	inside := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if heading, is := strings.CutPrefix(line, "## "); is {
			parts := title.FindStringSubmatch(strings.TrimSpace(heading))
			inside = false
			if parts != nil {
				version := parts[1] + parts[2]
				inside = !slices.ContainsFunc(found, func(old release) bool { return old.version == version })
				if inside {
					found = append(found, release{version: version, date: parts[3]})
				}
			}
		} else if strings.HasPrefix(line, "[") && strings.Contains(line, "]: ") {
			// Link definitions are not part of a release.
			inside = false
		}
		if inside {
			found[len(found)-1].text += line + "\n"
		}
	}
	for at := range found {
		found[at].text = strings.TrimSpace(found[at].text) + "\n"
	}
	return found
}

// The items below a `### ` line.
type section struct {
	Kind  string   `json:"kind"`
	Items []string `json:"items"`
}

// Formats version, date and the list below each `### ` line as JSON.
func (r release) json() (string, error) {
	all := struct {
		Version string    `json:"version"`
		Date    *string   `json:"date"`
		Changes []section `json:"changes"`
	}{Version: r.version, Changes: r.sections()}
	if r.date != "" {
		all.Date = &r.date
	}
	text, err := json.Marshal(all)
	return string(text), err
}

// Returns the list below each `### ` line.
func (r release) sections() []section {
	all := []section{}
	for line := range strings.Lines(r.text) {
		if kind, is := strings.CutPrefix(line, "### "); is {
			all = append(all, section{Kind: strings.TrimSpace(kind), Items: []string{}})
		}
		if len(all) == 0 {
			continue
		}
		items := &all[len(all)-1].Items
		if item, is := strings.CutPrefix(line, "- "); is {
			*items = append(*items, strings.TrimSpace(item))
		} else if len(*items) > 0 && strings.HasPrefix(line, "  ") {
			// An indented line continues the item above.
			(*items)[len(*items)-1] += " " + strings.TrimSpace(line)
		}
	}
	return all
}

// A hash of the text (32-bit FNV-1a, which is short to implement in every language).
func (r release) digest() string {
	hash := fnv.New32a()
	hash.Write([]byte(r.text))
	return fmt.Sprintf("%08x", hash.Sum32())
}

// Returns the first line that contains a text, without regard to the case of ASCII letters.
func (r release) lineWith(text string) (string, bool) {
	for line := range strings.Lines(r.text) {
		if strings.Contains(lower(line), lower(text)) {
			return strings.TrimSpace(line), true
		}
	}
	return "", false
}

func lower(text string) string {
	return strings.Map(func(c rune) rune {
		if 'A' <= c && c <= 'Z' {
			return c + 'a' - 'A'
		}
		return c
	}, text)
}

// Returns the release with this version.
func find(all []release, version string) (release, bool) {
	at := position(all, version)
	if at < 0 {
		return release{}, false
	}
	return all[at], true
}

func position(all []release, version string) int {
	return slices.IndexFunc(all, func(release release) bool { return release.version == version })
}
