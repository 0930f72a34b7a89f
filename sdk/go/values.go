package provider

import (
	"iter"
	"slices"
	"sort"
	"strings"
)

// Pair is a key and its value.
type Pair struct{ Key, Value string }

// Description describes a provider. Empty fields are omitted.
type Description struct {
	Title, Version, Summary, Instructions string
	// Claims are URI prefixes that belong to this provider, in addition to the URIs that it lists.
	Claims []string
}

// Entry is a resource in a list.
type Entry struct {
	URI, Name                    string
	Title, Description, MimeType string
	// Size of the content in bytes; see [Size].
	Size *uint64
	// Version changes whenever the content changes.
	Version string
	Details *Details
}

// Size returns a value for [Entry.Size].
func Size(bytes int) *uint64 {
	size := uint64(bytes)
	return &size
}

// Template is a set of resources, described by an RFC 6570 URI template.
type Template struct {
	URITemplate, Name            string
	Title, Description, MimeType string
	Details                      *Details
}

// Details are less common properties of entries and templates.
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

// Role is an intended audience.
type Role uint8

// The roles.
const (
	User Role = iota
	Assistant
)

// Icon is an image with a URI.
type Icon struct {
	Src, MimeType string
	Sizes         []string
	Theme         Theme
}

// Theme is the background that an icon is made for.
type Theme uint8

// The themes.
const (
	AnyTheme Theme = iota
	Light
	Dark
)

// EntryPage is a page of a list. The last page has no cursor.
type EntryPage struct {
	Entries    []Entry
	NextCursor string
	Freshness  *Freshness
}

// TemplatePage is a page of templates. The last page has no cursor.
type TemplatePage struct {
	Templates  []Template
	NextCursor string
	Freshness  *Freshness
}

// Freshness is how long a response may be cached.
type Freshness struct {
	TTLMilliseconds uint64
	// CallerOnly means that it may be reused only for the same caller.
	CallerOnly bool
}

// Content is one content of a reading. See [Text] and [Blob].
type Content struct {
	// URI, if it differs from the requested one.
	URI      string
	MimeType string
	// Bytes of the text or the binary content.
	Bytes    []byte
	IsText   bool
	Metadata []Pair
}

// Text returns a text content, which must be UTF-8.
func Text(text, mimeType string) Content {
	return Content{MimeType: mimeType, Bytes: []byte(text), IsText: true}
}

// Blob returns a binary content.
func Blob(bytes []byte, mimeType string) Content {
	return Content{MimeType: mimeType, Bytes: bytes}
}

// Reading is the result of a read.
type Reading struct {
	Contents  []Content
	Version   string
	Freshness *Freshness
}

// Match is the template that matches a URI, with the decoded values of its variables.
type Match struct {
	URITemplate string
	Variables   []Variable
}

// Variable is a variable of a template and its value. A list is several variables with the same name, and a map is
// several variables with the same name and different keys.
type Variable struct {
	Name, Value string
	// Key within a map.
	Key string
}

// Request is a read request.
type Request struct {
	URI     string
	Matched *Match
	// KnownVersion is the version that the caller knows.
	KnownVersion string
}

// Template returns the template that matches the URI, if any.
func (r Request) Template() string {
	if r.Matched == nil {
		return ""
	}
	return r.Matched.URITemplate
}

// Var returns the value of a variable. The items of a list are joined with commas, as they are in the URI. The error is
// [NotFound] if no template matched, and [Invalid] if the URI omits the variable.
func (r Request) Var(name string) (string, error) {
	if r.Matched == nil {
		return "", NotFound
	}
	found := r.Vars(name)
	if len(found) == 0 {
		return "", Invalid("the URI has no value for `%s`", name)
	}
	value := found[0].Value
	for _, item := range found[1:] {
		value += "," + item.Value
	}
	return value, nil
}

// OptionalVar returns the value of a variable that the URI may omit, such as page of `{?page}`, and whether it has one.
// The items of a list are joined as by [Request.Var].
func (r Request) OptionalVar(name string) (string, bool) {
	value, err := r.Var(name)
	return value, err == nil
}

// Vars returns all variables with this name: several if the URI has a list or a map.
func (r Request) Vars(name string) []Variable {
	var found []Variable
	if r.Matched != nil {
		for _, variable := range r.Matched.Variables {
			if variable.Name == name {
				found = append(found, variable)
			}
		}
	}
	return found
}

// UnlessKnown returns [NotModified] if the caller already knows this version.
func (r Request) UnlessKnown(version string) error {
	if r.KnownVersion == version && version != "" {
		return NotModified
	}
	return nil
}

// Query is a request for a page of the list.
type Query struct {
	Cursor          string
	Limit           uint32
	URIPrefix, Kind string
}

// Wants returns whether an entry matches the hints of this query.
func (q Query) Wants(entry Entry) bool {
	kind := ""
	if entry.Details != nil {
		kind = entry.Details.Kind
	}
	return strings.HasPrefix(entry.URI, q.URIPrefix) && (q.Kind == "" || q.Kind == kind)
}

// Paginate returns one page of a list that is sorted by URI: the entries after the query's cursor that match its hints.
// The cursor is the last URI of the previous page. If the list changes between two pages, entries that are in the list
// all the time are neither repeated nor lost.
//
// Each page is a call of its own, for which all entries have to be created again. For a long list, see [PaginateFrom].
func Paginate(entries []Entry, query Query) EntryPage {
	first := 0
	if query.Cursor != "" {
		first = sort.Search(len(entries), func(n int) bool { return entries[n].URI > query.Cursor })
	}
	return paginate(slices.Values(entries[first:]), query)
}

// PaginateFrom returns one page of a long list that is sorted by URI, as [Paginate] does. It calls entries with the
// cursor, or "" for the first page, and entries yields those after it. It may also yield earlier ones.
func PaginateFrom(entries func(after string) iter.Seq[Entry], query Query) EntryPage {
	return paginate(entries(query.Cursor), query)
}

func paginate(entries iter.Seq[Entry], query Query) EntryPage {
	limit := max(int(query.Limit), 1)
	var page EntryPage
	for entry := range entries {
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

// CompletionRequest is a request to complete a variable of a template.
type CompletionRequest struct {
	URITemplate, Variable string
	// Prefix is the text that has been typed so far.
	Prefix string
	// Filled are the variables that are already filled in.
	Filled []Pair
}

// Completion contains suggested values.
type Completion struct {
	Values []string
	Total  *uint64
	More   bool
}

// maxSuggestions is the maximum number of values in a completion, as specified by MCP.
const maxSuggestions = 100

// Matching returns the candidates that begin with the prefix, truncated to the maximum number of suggestions.
func Matching(candidates []string, prefix string) Completion {
	var found []string
	for _, value := range candidates {
		if strings.HasPrefix(value, prefix) {
			found = append(found, value)
		}
	}
	total := len(found)
	return Completion{Values: found[:min(total, maxSuggestions)], Total: Size(total), More: total > maxSuggestions}
}
