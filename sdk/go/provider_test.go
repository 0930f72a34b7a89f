package provider

// Native tests of the parts that need no host: `go test .`.

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func TestAPageBeginsAfterTheCursor(t *testing.T) {
	var entries []Entry
	for n := range 6 {
		kind := []string{"even", "odd"}[n%2]
		entries = append(entries, Entry{URI: fmt.Sprintf("n:%d", n), Details: &Details{Kind: kind}})
	}
	check := func(query Query, expected []string, next string) {
		page := Paginate(entries, query)
		var uris []string
		for _, entry := range page.Entries {
			uris = append(uris, entry.URI)
		}
		if !reflect.DeepEqual(uris, expected) || page.NextCursor != next {
			t.Errorf("%+v: %v, then %q", query, uris, page.NextCursor)
		}
	}
	check(Query{Limit: 2}, []string{"n:0", "n:1"}, "n:1")
	check(Query{Limit: 2, Cursor: "n:3"}, []string{"n:4", "n:5"}, "")
	check(Query{Limit: 9, Cursor: "n:35"}, []string{"n:4", "n:5"}, "")
	check(Query{}, []string{"n:0"}, "n:0")
	check(Query{Limit: 2, Kind: "odd"}, []string{"n:1", "n:3"}, "n:3")
	check(Query{Limit: 2, URIPrefix: "n:4"}, []string{"n:4"}, "")
}

func TestALongListBeginsAtTheCursor(t *testing.T) {
	created := 0
	numbers := func(after string) iter.Seq[Entry] {
		first, _ := strconv.Atoi(strings.TrimPrefix(after, "n:"))
		return func(yield func(Entry) bool) {
			for n := first; n < 50_000; n++ {
				created++
				if !yield(Entry{URI: fmt.Sprintf("n:%05d", n)}) {
					return
				}
			}
		}
	}
	query, found, pages := Query{Limit: 1000}, 0, 0
	for more := true; more; pages++ {
		page := PaginateFrom(numbers, query)
		found += len(page.Entries)
		query.Cursor, more = page.NextCursor, page.NextCursor != ""
	}
	// One entry more at both ends of each page.
	if found != 50_000 || created >= 50_000+2*pages {
		t.Error(found, created, pages)
	}
}

func TestErrorsAreConverted(t *testing.T) {
	check := func(err error, kind kind, reason string) {
		if actual := toError(err); actual.kind != kind || actual.reason != reason {
			t.Errorf("%v: %d %q", err, actual.kind, actual.reason)
		}
	}
	check(fmt.Errorf("while reading: %w", NotFound), notFound, "while reading: not found")
	check(fmt.Errorf("page 3: %w", Invalid("no %s", "value")), invalid, "page 3: no value")
	check(&fs.PathError{Op: "open", Path: "a/b", Err: syscall.ENOTDIR}, notFound, "open a/b: not a directory")
	check(Invalid("no %s", "value"), invalid, "no value")
	check(fs.ErrNotExist, notFound, "file does not exist")
	check(fs.ErrPermission, denied, "permission denied")
	check(errors.New("x"), failed, "x")
}

func TestAMissingFileLeavesATrace(t *testing.T) {
	missing := &fs.PathError{Op: "open", Path: "/gone/x", Err: syscall.ENOENT}
	check := func(method string, err error, kind kind, reason string) {
		if actual := errorOf(method, err); actual.kind != kind || actual.reason != reason {
			t.Errorf("%s: %d %q", method, actual.kind, actual.reason)
		}
	}
	logged := captureStderr(t, func() { check("Read", missing, notFound, "open /gone/x: no such file or directory") })
	if logged != "Read: not found, because of open /gone/x: no such file or directory\n" {
		t.Errorf("%q", logged)
	}
	check("List", missing, failed, "open /gone/x: no such file or directory")
	check("List", NotFound, notFound, "not found")
	ungranted := &fs.PathError{Op: "open", Path: "/gone/x", Err: syscall.EBADF}
	check("Read", ungranted, denied, "open /gone/x: bad file descriptor; no granted folder contains it")
}

// captureStderr returns what a function writes to stderr.
func captureStderr(t *testing.T, call func()) string {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr := os.Stderr
	os.Stderr = writer
	call()
	os.Stderr = stderr
	writer.Close()
	text, _ := io.ReadAll(reader)
	return string(text)
}

func TestAPanicIsAFailure(t *testing.T) {
	_, err := guarded("Read", func() (int, error) { panic("oops") })
	if actual := toError(err); actual.kind != failed || actual.reason != "panic: oops" {
		t.Errorf("%v", err)
	}
}

func TestARequestReturnsTheValuesOfItsTemplate(t *testing.T) {
	request := Request{URI: "n:7", Matched: &Match{"n:{id}", []Variable{{Name: "id", Value: "7"}, {Name: "id", Value: "8", Key: "k"}}}, KnownVersion: "3"}
	if id, err := request.Var("id"); id != "7,8" || err != nil {
		t.Error(id, err)
	}
	if all := request.Vars("id"); len(all) != 2 || all[1].Key != "k" || request.Vars("other") != nil {
		t.Error(all)
	}
	if _, err := request.Var("other"); toError(err).kind != invalid {
		t.Error(err)
	}
	if id, ok := request.OptionalVar("id"); id != "7,8" || !ok {
		t.Error(id, ok)
	}
	if value, ok := request.OptionalVar("other"); value != "" || ok {
		t.Error(value, ok)
	}
	if _, err := (Request{}).Var("id"); err != NotFound {
		t.Error(err)
	}
	if request.UnlessKnown("3") != NotModified || request.UnlessKnown("4") != nil || (Request{}).UnlessKnown("") != nil {
		t.Error("what is known")
	}
}

func TestACompletionHasAtMostAHundredValues(t *testing.T) {
	var candidates []string
	for n := range 150 {
		candidates = append(candidates, strconv.Itoa(n))
	}
	found := Matching(candidates, "")
	if len(found.Values) != 100 || *found.Total != 150 || !found.More {
		t.Errorf("%d of %d", len(found.Values), *found.Total)
	}
}

func TestInvalidUTF8IsReplacedInTextsAndRejectedInURIs(t *testing.T) {
	if text := valid("caf\xe9"); text != "caf\uFFFD" {
		t.Errorf("%q", text)
	}
	err := EntryPage{Entries: []Entry{{URI: "n:1", Name: "\xff"}, {URI: "n:\xff", Name: "2"}}}.check()
	if actual := toError(err); actual.kind != failed || actual.reason != `Entries[1].URI "n:\xff" is not UTF-8` {
		t.Error(err)
	}
}

func TestTheLastVariableOfAGreedyTemplateMatchesSlashes(t *testing.T) {
	check := func(template, uri string, expected []Pair) {
		match, found := MatchGreedy(template, uri)
		var pairs []Pair
		for _, variable := range match.Variables {
			pairs = append(pairs, Pair{variable.Name, variable.Value})
		}
		if found != (expected != nil) || !reflect.DeepEqual(pairs, expected) {
			t.Errorf("%s %s: %v", template, uri, match)
		}
	}
	check("file:///{path}", "file:///a/b/c", []Pair{{"path", "a/b/c"}})
	check("file:///{path}", "file:///a%20b/%e2%82%ac%", []Pair{{"path", "a b/€%"}})
	check("git://{repo}/{path}", "git://r/a/b", []Pair{{"repo", "r"}, {"path", "a/b"}})
	check("x:{a}-{b}.md", "x:1-2-3/4.md", []Pair{{"a", "1-2"}, {"b", "3/4"}})
	for template, uri := range map[string]string{
		"file:///{path}": "file:///", "n:///{path}": "n:///%ff", "git://{repo}/{path}": "git://r",
		"x:{a}/{+b}": "x:1/2", "x:{a,b}": "x:1/2", "x:y": "x:y",
	} {
		check(template, uri, nil)
	}
}

type greedy struct{ minimal }

func (greedy) Greedy() []string { return []string{"n:///{path}", "n:///{a}/{b}"} }

func TestAGreedyProviderClaimsAndMatches(t *testing.T) {
	if about := descriptionOf(greedy{}); !reflect.DeepEqual(about.Claims, []string{"n:///"}) {
		t.Error(about)
	}
	if match, found := matchOf(greedy{}, "n:///a/b"); !found || match.URITemplate != "n:///{path}" {
		t.Error(match, found)
	}
	if _, found := matchOf(minimal{}, "n:///a/b"); found {
		t.Error("unexpected match")
	}
}

type minimal struct{}

func (minimal) Read(Request) (Reading, error) { return Reading{}, NotFound }

type versioned struct{ minimal }

func (versioned) Versions(uris []string) ([]string, error) { return []string{"3", ""}, nil }

func TestVersionsAreUnknownByDefault(t *testing.T) {
	for provider, expected := range map[Reader][]string{minimal{}: {"", ""}, versioned{}: {"3", ""}} {
		if found, err := versionsOf(provider, []string{"n:1", "n:2"}); err != nil || !reflect.DeepEqual(found, expected) {
			t.Error(found, err)
		}
	}
}

func TestStatusCodesAreConvertedToErrors(t *testing.T) {
	for status, kind := range map[int]kind{304: notModified, 404: notFound, 403: denied, 503: unavailable, 418: failed} {
		if err := (HTTPResponse{Status: status}).Accepted(); toError(err).kind != kind {
			t.Errorf("%d: %v", status, err)
		}
	}
	if err := (HTTPResponse{Status: 204}).Accepted(); err != nil {
		t.Error(err)
	}
}
