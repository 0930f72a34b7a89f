// Package provider is the SDK for Larder providers. A provider is a value with a Read method.
//
//	func init() { provider.Register(notes{}) }
//	func main() {} // required by Go, but never run
//
// The value can also implement [Describer], [Lister], [Templater], [Greedy], [Matcher], [Completer] and [Versioner].
// The packages tools, prompts, search and settings add further interfaces to the component.
// Errors of this package are passed on to the host. Other errors and panics become failures.
package provider

import "slices"

// Reader is the only interface that a provider has to implement.
type Reader interface {
	// Read reads a resource. After [NotFound], the host tries other providers.
	Read(Request) (Reading, error)
}

// Describer describes the provider for people and for the model.
type Describer interface {
	Describe() Description
}

// Lister lists resources.
type Lister interface {
	// List returns one page of the list of resources, sorted by URI. See [Paginate].
	List(Query) (EntryPage, error)
}

// Templater lists RFC 6570 templates.
type Templater interface {
	Templates(cursor string) (TemplatePage, error)
}

// Matcher matches URIs to templates. It is called only for URIs within the claims that no template matches by the rules
// of RFC 6570.
type Matcher interface {
	MatchURI(uri string) (Match, bool)
}

// Greedy has templates whose last variable also matches slashes, so that file:///{path} matches file:///a/b/c. They
// need no claims and no [Matcher].
type Greedy interface {
	// Greedy returns these templates.
	Greedy() []string
}

// Completer suggests values for the variables of its templates.
type Completer interface {
	Complete(CompletionRequest) (Completion, error)
}

// Versioner returns current versions at a lower cost than reading.
type Versioner interface {
	// Versions returns one version for each URI, in order; an empty one if the resource does not exist or its version
	// is known only after a read, which the host then makes.
	Versions(uris []string) ([]string, error)
}

// Register exports the provider as a component. Call it once, in an init function.
func Register(provider Reader) { register(provider) }

// descriptionOf returns the description of a provider, with the prefixes of its greedy templates as additional claims.
// Without a claim, the host would not call match-uri for their URIs.
func descriptionOf(provider Reader) Description {
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

// matchOf matches a URI with a [Matcher] or, if the provider is none, with its greedy templates.
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

// versionsOf returns the versions of a [Versioner]. For other providers, all versions are unknown and the host reads.
func versionsOf(provider Reader, uris []string) ([]string, error) {
	if versioner, can := provider.(Versioner); can {
		return versioner.Versions(uris)
	}
	return make([]string, len(uris)), nil
}
