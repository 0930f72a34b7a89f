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

// Formats version, date and the list below each `### ` line as JSON.
func (r release) json() (string, error) {
	type change struct {
		Kind  string   `json:"kind"`
		Items []string `json:"items"`
	}
	all := struct {
		Version string    `json:"version"`
		Date    *string   `json:"date"`
		Changes []*change `json:"changes"`
	}{Version: r.version, Changes: []*change{}}
	if r.date != "" {
		all.Date = &r.date
	}
	var last *change
	for line := range strings.Lines(r.text) {
		if kind, is := strings.CutPrefix(line, "### "); is {
			last = &change{Kind: strings.TrimSpace(kind), Items: []string{}}
			all.Changes = append(all.Changes, last)
		} else if item, is := strings.CutPrefix(line, "- "); is && last != nil {
			last.Items = append(last.Items, strings.TrimSpace(item))
		} else if last != nil && len(last.Items) > 0 && strings.HasPrefix(line, "  ") {
			// An indented line continues the item above.
			last.Items[len(last.Items)-1] += " " + strings.TrimSpace(line)
		}
	}
	text, err := json.Marshal(all)
	return string(text), err
}

// A hash of the text (32-bit FNV-1a, which is short to implement in every language).
func (r release) digest() string {
	hash := fnv.New32a()
	hash.Write([]byte(r.text))
	return fmt.Sprintf("%08x", hash.Sum32())
}
