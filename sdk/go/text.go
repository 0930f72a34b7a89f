package provider

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// valid is a text as the host can take it: what is not UTF-8 in it is replaced, as it would end the guest.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// named is an error where a URI, a template or a cursor is not UTF-8: replaced, it would name something else.
func named(names ...string) error {
	for _, name := range names {
		if !utf8.ValidString(name) {
			return Failed("%q is not UTF-8", name)
		}
	}
	return nil
}

// namedIn is the same for what is in a list.
func namedIn[T any](values []T, name func(T) string) error {
	for _, value := range values {
		if err := named(name(value)); err != nil {
			return err
		}
	}
	return nil
}

// claim is what a greedy template claims: what stands before its first variable.
func claim(template string) string {
	before, _, _ := strings.Cut(template, "{")
	return before
}

// MatchGreedy says what a template makes of a URI if its last variable takes the rest of the path, slashes included.
// For an own [Matcher]; where there is none, [Greedy] is enough. Its expressions are plain ones: {name}.
func MatchGreedy(template, uri string) (Match, bool) {
	pieces := strings.Split(template, "{")
	rest, begins := strings.CutPrefix(uri, pieces[0])
	if !begins || len(pieces) == 1 {
		return Match{}, false
	}
	var slots []slot
	for _, piece := range pieces[1:] {
		name, behind, closed := strings.Cut(piece, "}")
		if !closed || name == "" || strings.ContainsAny(name, "+#./;?&,*:") {
			return Match{}, false
		}
		slots = append(slots, slot{name, behind})
	}
	variables := fill(slots, rest)
	return Match{URITemplate: template, Variables: variables}, variables != nil
}

// A variable, and the text behind it.
type slot struct{ name, behind string }

// fill gives the values of these variables. An earlier one takes as much as it can, up to a slash.
func fill(slots []slot, rest string) []Pair {
	first, others := slots[0], slots[1:]
	if len(others) == 0 {
		value, fits := strings.CutSuffix(rest, first.behind)
		return filled(first, value, fits, []Pair{})
	}
	for end := len(upToSlash(rest)); end > 0; end-- {
		behind, fits := strings.CutPrefix(rest[end:], first.behind)
		if !fits {
			continue
		}
		if variables := fill(others, behind); variables != nil {
			if found := filled(first, rest[:end], true, variables); found != nil {
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

// filled puts a decoded value before the others; nothing if it is no value.
func filled(of slot, value string, fits bool, others []Pair) []Pair {
	text := decoded(value)
	if !fits || text == "" || !utf8.ValidString(text) {
		return nil
	}
	return append([]Pair{{of.name, text}}, others...)
}

// decoded is a text percent-decoded, once.
func decoded(text string) string {
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
