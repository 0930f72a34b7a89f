package provider

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// valid replaces invalid UTF-8 in a text. Passing it to the host would be a trap.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

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
	var expected []expression
	for _, piece := range pieces[1:] {
		name, literal, closed := strings.Cut(piece, "}")
		if !closed || name == "" || strings.ContainsAny(name, "+#./;?&,*:") {
			return Match{}, false
		}
		expected = append(expected, expression{name, literal})
	}
	variables := matchVariables(expected, rest)
	return Match{URITemplate: template, Variables: variables}, variables != nil
}

// The name of a variable and the literal after it.
type expression struct{ name, literal string }

// matchVariables returns the values of these variables. Every variable except the last matches as much as possible, but
// no slash.
func matchVariables(variables []expression, rest string) []Variable {
	first, others := variables[0], variables[1:]
	if len(others) == 0 {
		value, matches := strings.CutSuffix(rest, first.literal)
		return prepend(first, value, matches, nil)
	}
	for end := len(upToSlash(rest)); end > 0; end-- {
		remaining, matches := strings.CutPrefix(rest[end:], first.literal)
		if !matches {
			continue
		}
		if matched := matchVariables(others, remaining); matched != nil {
			if found := prepend(first, rest[:end], true, matched); found != nil {
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
func prepend(to expression, value string, matches bool, others []Variable) []Variable {
	text := percentDecode(value)
	if !matches || text == "" || !utf8.ValidString(text) {
		return nil
	}
	return append([]Variable{{Name: to.name, Value: text}}, others...)
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
