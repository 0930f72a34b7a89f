package main

// What a changelog says. Nothing here knows of Larder.

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

// `[1.0.0] - 2026-05-12` or `1.0.0`. No release, if its version would not fit into a URI as it is.
var title = regexp.MustCompile(`^(?:\[([A-Za-z0-9._~-]+)\]|([A-Za-z0-9._~-]+)(?: |$))[ -]*(?:(\d{4}-\d\d-\d\d)(?: |$))?`)

// The releases in the order of the text: each from its `## ` line to the next.
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
			// Where a link leads is no part of a release.
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

// Version, date, and the lists below each `### ` line.
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
			// What is indented goes on with the item above.
			last.Items[len(last.Items)-1] += " " + strings.TrimSpace(line)
		}
	}
	text, err := json.Marshal(all)
	return string(text), err
}

// Differs whenever the text differs: 32 bits of FNV-1a, which is short in every language.
func (r release) digest() string {
	hash := fnv.New32a()
	hash.Write([]byte(r.text))
	return fmt.Sprintf("%08x", hash.Sum32())
}
