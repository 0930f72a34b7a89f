// Package provider makes a Larder resource provider out of a value with a Read method.
//
//	func init() { provider.Register(notes{}) }
//	func main() {} // never run, but Go wants it
//
// What else the value can do is found by looking for the methods of [Describer], [Lister], [Templater], [Greedy],
// [Matcher], [Completer] and [Versioner]. Errors of this package mean to the host what they say; any other error, and a panic,
// is a failure of the provider.
package provider

import "slices"

// Reader is the least a provider is.
type Reader interface {
	// Read says what a URI holds. [NotFound] lets another provider try.
	Read(Request) (Reading, error)
}

// Describer says what the provider is, for people and for the model.
type Describer interface {
	Describe() Description
}

// Lister has a list.
type Lister interface {
	// List gives one page of what there is, sorted by URI. [Paginate] makes pages.
	List(Query) (EntryPage, error)
}

// Templater has families of resources.
type Templater interface {
	Templates(cursor string) (TemplatePage, error)
}

// Matcher knows whose template a URI inside its claims belongs to, where matching by RFC 6570 found nothing.
type Matcher interface {
	MatchURI(uri string) (Match, bool)
}

// Greedy has templates whose last variable takes slashes as well, so that file:///{path} reads file:///a/b/c. They need
// no claims and no [Matcher].
type Greedy interface {
	// Greedy gives those of the templates that are.
	Greedy() []string
}

// Completer has suggestions for the variables of its templates.
type Completer interface {
	Complete(CompletionRequest) (Completion, error)
}

// Versioner knows current versions more cheaply than by reading.
type Versioner interface {
	// Versions gives one version for each URI, in order; an empty one where it names nothing, or where only Read
	// can tell: the host reads those.
	Versions(uris []string) ([]string, error)
}

// Register makes a component of the provider. Call it once, in an init function.
func Register(provider Reader) { register(provider) }

// aboutOf asks a [Describer]; the host asks whose a URI is only of those who claim it, so greedy templates are claims.
func aboutOf(provider Reader) Description {
	var about Description
	if describer, can := provider.(Describer); can {
		about = describer.Describe()
	}
	if greedy, can := provider.(Greedy); can {
		for _, template := range greedy.Greedy() {
			if claimed := claim(template); !slices.Contains(about.Claims, claimed) {
				about.Claims = append(about.Claims, claimed)
			}
		}
	}
	return about
}

// matchOf asks a [Matcher], or else which of the greedy templates it is.
func matchOf(provider Reader, uri string) (Match, bool) {
	if matcher, can := provider.(Matcher); can {
		return matcher.MatchURI(uri)
	}
	if greedy, can := provider.(Greedy); can {
		for _, template := range greedy.Greedy() {
			if match, found := MatchGreedy(template, uri); found {
				return match, true
			}
		}
	}
	return Match{}, false
}

// versionsOf asks a [Versioner]; any other provider knows none, and the host reads.
func versionsOf(provider Reader, uris []string) ([]string, error) {
	if versioner, can := provider.(Versioner); can {
		return versioner.Versions(uris)
	}
	return make([]string, len(uris)), nil
}
