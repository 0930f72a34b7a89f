package provider

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// valid replaces invalid UTF-8 in a text. Passing it to the host would be a trap.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// checkUTF8 returns an error if a URI, template or cursor is not UTF-8. Replacing characters would change its meaning.
func checkUTF8(texts ...string) error {
	for _, text := range texts {
		if !utf8.ValidString(text) {
			return Failed("%q is not UTF-8", text)
		}
	}
	return nil
}

// checkAllUTF8 does the same for a field of each value in a list.
func checkAllUTF8[T any](values []T, field func(T) string) error {
	for _, value := range values {
		if err := checkUTF8(field(value)); err != nil {
			return err
		}
	}
	return nil
}

// claim returns the URI prefix that a greedy template claims: the text before its first variable.
func claim(template string) string {
	before, _, _ := strings.Cut(template, "{")
	return before
}

// MatchGreedy matches a URI with a template whose last variable matches the rest of the path, including slashes.
// It is meant for implementations of [Matcher]; otherwise [Greedy] is sufficient. Only simple expressions such as {name}
// are supported.
func MatchGreedy(template, uri string) (Match, bool) {
	pieces := strings.Split(template, "{")
	rest, begins := strings.CutPrefix(uri, pieces[0])
	if !begins || len(pieces) == 1 {
		return Match{}, false
	}
	var expected []variable
	for _, piece := range pieces[1:] {
		name, literal, closed := strings.Cut(piece, "}")
		if !closed || name == "" || strings.ContainsAny(name, "+#./;?&,*:") {
			return Match{}, false
		}
		expected = append(expected, variable{name, literal})
	}
	variables := matchVariables(expected, rest)
	return Match{URITemplate: template, Variables: variables}, variables != nil
}

// A variable and the literal after it.
type variable struct{ name, literal string }

// matchVariables returns the values of these variables. Every variable except the last matches as much as possible, but
// no slash.
func matchVariables(variables []variable, rest string) []Pair {
	first, others := variables[0], variables[1:]
	if len(others) == 0 {
		value, matches := strings.CutSuffix(rest, first.literal)
		return prepend(first, value, matches, []Pair{})
	}
	for end := len(upToSlash(rest)); end > 0; end-- {
		remaining, matches := strings.CutPrefix(rest[end:], first.literal)
		if !matches {
			continue
		}
		if pairs := matchVariables(others, remaining); pairs != nil {
			if found := prepend(first, rest[:end], true, pairs); found != nil {
				return found
			}
		}
	}
	return nil
}

func upToSlash(text string) string {
	before, _, _ := strings.Cut(text, "/")
	return before
}

// prepend adds the decoded value before the others. It returns nil if the value is not valid.
func prepend(to variable, value string, matches bool, others []Pair) []Pair {
	text := percentDecode(value)
	if !matches || text == "" || !utf8.ValidString(text) {
		return nil
	}
	return append([]Pair{{to.name, text}}, others...)
}

// percentDecode decodes percent-encoding once.
func percentDecode(text string) string {
	var bytes []byte
	for text != "" {
		if text[0] == '%' && len(text) > 2 {
			if byte, err := strconv.ParseUint(text[1:3], 16, 8); err == nil {
				bytes, text = append(bytes, uint8(byte)), text[3:]
				continue
			}
		}
		bytes, text = append(bytes, text[0]), text[1:]
	}
	return string(bytes)
}
