package provider

import "strings"

// Pair is a key and what belongs to it.
type Pair struct{ Key, Value string }

// Description is what a provider says about itself. What is empty is not said.
type Description struct {
	Title, Version, Summary, Instructions string
	// Claims are URI prefixes that are this provider's own, beyond what it lists.
	Claims []string
}

// Entry is one readable thing, as a list shows it.
type Entry struct {
	URI, Name                    string
	Title, Description, MimeType string
	// Size of the content in bytes; see [Size].
	Size *uint64
	// Version differs whenever the content differs.
	Version string
	Details *Details
}

// Size is for [Entry.Size].
func Size(bytes int) *uint64 {
	size := uint64(bytes)
	return &size
}

// Template is a family of readable things, by an RFC 6570 URI template.
type Template struct {
	URITemplate, Name            string
	Title, Description, MimeType string
	Details                      *Details
}

// Details are what few entries and templates have.
type Details struct {
	Kind     string
	Audience []Role
	// Priority is from 0 (optional) to 1 (required).
	Priority *float64
	// LastModified is in RFC 3339.
	LastModified string
	Icons        []Icon
	// Metadata has JSON texts as its values.
	Metadata []Pair
}

// Role is whom something is for.
type Role uint8

// The roles there are.
const (
	User Role = iota
	Assistant
)

// Icon is a picture, by its URI.
type Icon struct {
	Src, MimeType string
	Sizes         []string
}

// EntryPage is a page of a list; without a cursor, the last one.
type EntryPage struct {
	Entries    []Entry
	NextCursor string
	Freshness  *Freshness
}

// TemplatePage is a page of templates; without a cursor, the last one.
type TemplatePage struct {
	Templates  []Template
	NextCursor string
	Freshness  *Freshness
}

// Freshness is how long an answer may be reused.
type Freshness struct {
	TTLMilliseconds uint64
	// CallerOnly: by nobody but the caller who got it.
	CallerOnly bool
}

// Content is a piece of what was read. See [Text] and [Blob].
type Content struct {
	// URI, where it is not the one that was asked for.
	URI      string
	MimeType string
	// Bytes of the text or of anything else.
	Bytes    []byte
	IsText   bool
	Metadata []Pair
}

// Text is a content that is text, in UTF-8.
func Text(text, mimeType string) Content {
	return Content{MimeType: mimeType, Bytes: []byte(text), IsText: true}
}

// Blob is a content that is anything else.
func Blob(bytes []byte, mimeType string) Content {
	return Content{MimeType: mimeType, Bytes: bytes}
}

// Reading is what a read gives.
type Reading struct {
	Contents  []Content
	Version   string
	Freshness *Freshness
}

// Match says which template a URI belongs to, with the decoded values of its variables.
type Match struct {
	URITemplate string
	Variables   []Pair
}

// Request is what is to be read.
type Request struct {
	URI     string
	Matched *Match
	// KnownVersion is the version that the caller holds.
	KnownVersion string
}

// Template is the one that the URI belongs to, if any.
func (r Request) Template() string {
	if r.Matched == nil {
		return ""
	}
	return r.Matched.URITemplate
}

// Var is the value of a variable: [NotFound] where no template matched, an invalid request where the URI leaves it out.
func (r Request) Var(name string) (string, error) {
	if r.Matched == nil {
		return "", NotFound
	}
	for _, pair := range r.Matched.Variables {
		if pair.Key == name {
			return pair.Value, nil
		}
	}
	return "", Invalid("the URI has no value for `%s`", name)
}

// UnlessKnown is [NotModified] where the caller already holds this version.
func (r Request) UnlessKnown(version string) error {
	if r.KnownVersion == version && version != "" {
		return NotModified
	}
	return nil
}

// Query says which page of the list is wanted.
type Query struct {
	Cursor          string
	Limit           uint32
	URIPrefix, Kind string
}

// Wants says whether the hints of this query want such an entry.
func (q Query) Wants(entry Entry) bool {
	kind := ""
	if entry.Details != nil {
		kind = entry.Details.Kind
	}
	return strings.HasPrefix(entry.URI, q.URIPrefix) && (q.Kind == "" || q.Kind == kind)
}

// Paginate gives one page of a list that is sorted by URI: what follows the query's cursor, filtered by its hints.
// The cursor is the last URI of the page before, so a list that grows or shrinks between two pages loses nothing.
func Paginate(entries []Entry, query Query) EntryPage {
	limit := max(int(query.Limit), 1)
	var page EntryPage
	for _, entry := range entries {
		if entry.URI <= query.Cursor || !query.Wants(entry) {
			continue
		}
		if len(page.Entries) == limit {
			page.NextCursor = page.Entries[limit-1].URI
			break
		}
		page.Entries = append(page.Entries, entry)
	}
	return page
}

// CompletionRequest says which variable of which template is being typed.
type CompletionRequest struct {
	URITemplate, Variable string
	// Prefix is what has been typed so far.
	Prefix string
	// Filled are the variables that are already filled in.
	Filled []Pair
}

// Completion holds suggestions.
type Completion struct {
	Values []string
	Total  *uint64
	More   bool
}

// suggestions are as many as MCP lets an answer have.
const suggestions = 100

// Matching gives those of the candidates that begin with what has been typed, as many as an answer may have.
func Matching(candidates []string, prefix string) Completion {
	var found []string
	for _, value := range candidates {
		if strings.HasPrefix(value, prefix) {
			found = append(found, value)
		}
	}
	total := len(found)
	return Completion{Values: found[:min(total, suggestions)], Total: Size(total), More: total > suggestions}
}
