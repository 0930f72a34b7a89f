//go:build wasip1

package provider

// Implements the exported functions of the component with the methods of a provider.

import (
	"larder.dev/provider/internal/asked"
	completions "larder.dev/provider/internal/bindings/larder_provider_completion_provider"
	types "larder.dev/provider/internal/bindings/larder_provider_provider_types"
	resources "larder.dev/provider/internal/bindings/larder_provider_resource_provider"
	_ "larder.dev/provider/internal/bindings/wit_exports"
	wit "larder.dev/provider/internal/wit/types"
)

func register(provider Reader) {
	asked.Describe = func() resources.Description { return describe(provider) }
	asked.ListResources = func(query resources.ListQuery) wit.Result[resources.EntryPage, types.Error] {
		return toResult("List", func() (resources.EntryPage, error) { return list(provider, query) })
	}
	asked.ListTemplates = func(cursor wit.Option[string]) wit.Result[resources.TemplatePage, types.Error] {
		return toResult("Templates", func() (resources.TemplatePage, error) { return templates(provider, cursor) })
	}
	asked.MatchUri = func(uri string) wit.Option[resources.TemplateMatch] { return matchURI(provider, uri) }
	asked.ReadResource = func(request resources.ReadRequest) wit.Result[resources.Reading, types.Error] {
		return toResult("Read", func() (resources.Reading, error) { return read(provider, request) })
	}
	asked.Complete = func(request completions.CompletionRequest) wit.Result[completions.Completion, types.Error] {
		return toResult("Complete", func() (completions.Completion, error) { return complete(provider, request) })
	}
	asked.Versions = func(uris []string) wit.Result[[]wit.Option[string], types.Error] {
		return toResult("Versions", func() ([]wit.Option[string], error) { return versions(provider, uris) })
	}
}

func toResult[T any](name string, call func() (T, error)) wit.Result[T, types.Error] {
	value, err := guarded(name, call)
	if err == nil {
		return wit.Ok[T, types.Error](value)
	}
	return wit.Err[T](contractError(errorOf(name, err)))
}

func describe(provider Reader) resources.Description {
	about, err := checkedDescription(provider)
	if err != nil {
		about = Description{Summary: err.Error()}
	}
	return resources.Description{
		Title:        option(about.Title),
		Version:      option(about.Version),
		Summary:      option(about.Summary),
		Instructions: option(about.Instructions),
		Claims:       about.Claims,
	}
}

func checkedDescription(provider Reader) (Description, error) {
	about, err := guarded("Describe", func() (Description, error) { return descriptionOf(provider), nil })
	if err == nil {
		err = about.check()
	}
	if err != nil {
		return Description{}, Failed("Describe failed: %s", err)
	}
	return about, nil
}

func list(provider Reader, query resources.ListQuery) (resources.EntryPage, error) {
	lister, ok := provider.(Lister)
	if !ok {
		return resources.EntryPage{}, nil
	}
	page, err := lister.List(Query{
		Cursor:    query.Cursor.SomeOr(""),
		Limit:     query.Limit,
		URIPrefix: query.UriPrefix.SomeOr(""),
		Kind:      query.Kind.SomeOr(""),
	})
	if err := checkAll(err, within("List: ", page.check())); err != nil {
		return resources.EntryPage{}, err
	}
	return resources.EntryPage{
		Entries:    mapSlice(page.Entries, contractEntry),
		NextCursor: option(page.NextCursor),
		Freshness:  freshness(page.Freshness),
	}, nil
}

func templates(provider Reader, cursor wit.Option[string]) (resources.TemplatePage, error) {
	// Describe cannot return an error. The next function that the host calls returns it, so that the host reports it.
	if _, err := checkedDescription(provider); err != nil {
		return resources.TemplatePage{}, err
	}
	templater, ok := provider.(Templater)
	if !ok {
		return resources.TemplatePage{}, nil
	}
	page, err := templater.Templates(cursor.SomeOr(""))
	if err := checkAll(err, within("Templates: ", page.check())); err != nil {
		return resources.TemplatePage{}, err
	}
	return resources.TemplatePage{
		Templates:  mapSlice(page.Templates, contractTemplate),
		NextCursor: option(page.NextCursor),
		Freshness:  freshness(page.Freshness),
	}, nil
}

func matchURI(provider Reader, uri string) wit.Option[resources.TemplateMatch] {
	found := false
	match, err := guarded("MatchURI", func() (match Match, err error) {
		match, found = matchOf(provider, uri)
		return match, checkText("URITemplate", match.URITemplate)
	})
	// match-uri cannot return an error, so the URI counts as not matched.
	if err != nil || !found {
		return wit.None[resources.TemplateMatch]()
	}
	return wit.Some(resources.TemplateMatch{UriTemplate: match.URITemplate, Variables: mapSlice(match.Variables, contractVariable)})
}

func read(provider Reader, asked resources.ReadRequest) (resources.Reading, error) {
	request := Request{URI: asked.Uri, KnownVersion: asked.KnownVersion.SomeOr("")}
	if asked.Matched.IsSome() {
		match := asked.Matched.Some()
		request.Matched = &Match{match.UriTemplate, mapSlice(match.Variables, variableFrom)}
	}
	reading, err := provider.Read(request)
	if err := checkAll(err, within("Read: ", reading.check())); err != nil {
		return resources.Reading{}, err
	}
	return resources.Reading{
		Contents:  mapSlice(reading.Contents, contractContent),
		Version:   option(reading.Version),
		Freshness: freshness(reading.Freshness),
	}, nil
}

func complete(provider Reader, asked completions.CompletionRequest) (completions.Completion, error) {
	completer, ok := provider.(Completer)
	if !ok {
		return completions.Completion{}, nil
	}
	found, err := completer.Complete(CompletionRequest{
		URITemplate: asked.UriTemplate,
		Variable:    asked.Variable,
		Prefix:      asked.Prefix,
		Filled:      pairs(asked.Filled),
	})
	return completions.Completion{Values: mapSlice(found.Values, valid), Total: optionFrom(found.Total), More: found.More}, err
}

func versions(provider Reader, asked []string) ([]wit.Option[string], error) {
	found, err := versionsOf(provider, asked)
	if err == nil && len(found) != len(asked) {
		err = Failed("Versions returned %d versions for %d URIs", len(found), len(asked))
	}
	return mapSlice(found, option), err
}
