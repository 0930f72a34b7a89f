//go:build wasip1

package provider

// Converts between the types of this package and the generated types. Empty values become absent options. Invalid
// UTF-8 in texts is replaced, because it would be a trap. Texts from the host are in memory that Go manages, so they do
// not have to be copied.

import (
	types "larder.dev/provider/internal/bindings/larder_provider_provider_types"
	resources "larder.dev/provider/internal/bindings/larder_provider_resource_provider"
	wit "larder.dev/provider/internal/wit/types"
)

func option(text string) wit.Option[string] {
	if text == "" {
		return wit.None[string]()
	}
	return wit.Some(valid(text))
}

func optionFrom[T any](value *T) wit.Option[T] {
	if value == nil {
		return wit.None[T]()
	}
	return wit.Some(*value)
}

func mapSlice[A, B any](values []A, convert func(A) B) []B {
	converted := make([]B, len(values))
	for at, value := range values {
		converted[at] = convert(value)
	}
	return converted
}

func pairs(tuples []wit.Tuple2[string, string]) []Pair {
	return mapSlice(tuples, func(tuple wit.Tuple2[string, string]) Pair {
		return Pair{tuple.F0, tuple.F1}
	})
}

func tuples(pairs []Pair) []wit.Tuple2[string, string] {
	return mapSlice(pairs, func(pair Pair) wit.Tuple2[string, string] {
		return wit.Tuple2[string, string]{F0: valid(pair.Key), F1: valid(pair.Value)}
	})
}

func contractVariable(variable Variable) resources.Variable {
	return resources.Variable{Name: valid(variable.Name), Key: option(variable.Key), Value: valid(variable.Value)}
}

func variableFrom(variable resources.Variable) Variable {
	return Variable{Name: variable.Name, Key: variable.Key.SomeOr(""), Value: variable.Value}
}

func contractEntry(entry Entry) types.Entry {
	return types.Entry{
		Uri:         entry.URI,
		Name:        valid(entry.Name),
		Title:       option(entry.Title),
		Description: option(entry.Description),
		MimeType:    option(entry.MimeType),
		Size:        optionFrom(entry.Size),
		Version:     option(entry.Version),
		Details:     contractDetails(entry.Details),
	}
}

func contractTemplate(template Template) types.Template {
	return types.Template{
		UriTemplate: template.URITemplate,
		Name:        valid(template.Name),
		Title:       option(template.Title),
		Description: option(template.Description),
		MimeType:    option(template.MimeType),
		Details:     contractDetails(template.Details),
	}
}

func contractDetails(details *Details) wit.Option[types.Details] {
	if details == nil {
		return wit.None[types.Details]()
	}
	return wit.Some(types.Details{
		Kind:         option(details.Kind),
		Audience:     roles(details.Audience),
		Priority:     optionFrom(details.Priority),
		LastModified: option(details.LastModified),
		Icons:        mapSlice(details.Icons, contractIcon),
		Metadata:     tuples(details.Metadata),
	})
}

func roles(audience []Role) []types.Role {
	return mapSlice(audience, func(role Role) types.Role { return uint8(role) })
}

func contractIcon(icon Icon) types.Icon {
	theme := wit.None[types.Theme]()
	switch icon.Theme {
	case Light:
		theme = wit.Some(types.ThemeLight)
	case Dark:
		theme = wit.Some(types.ThemeDark)
	}
	return types.Icon{
		Src: valid(icon.Src), MimeType: option(icon.MimeType), Sizes: mapSlice(icon.Sizes, valid), Theme: theme,
	}
}

func contractBody(content Content) types.Body {
	if content.IsText {
		return types.MakeBodyText(valid(string(content.Bytes)))
	}
	return types.MakeBodyBlob(content.Bytes)
}

func contractContent(content Content) types.Content {
	return types.Content{
		Uri:      option(content.URI),
		MimeType: option(content.MimeType),
		Body:     contractBody(content),
		Metadata: tuples(content.Metadata),
	}
}

func freshness(given *Freshness) wit.Option[types.Freshness] {
	if given == nil {
		return wit.None[types.Freshness]()
	}
	scope := types.ScopeEveryone
	if given.CallerOnly {
		scope = types.ScopeCaller
	}
	return wit.Some(types.Freshness{TtlMs: given.TTLMilliseconds, Scope: scope})
}

func contractError(err *Error) types.Error {
	reason := valid(err.reason)
	switch err.kind {
	case notFound:
		return types.MakeErrorNotFound()
	case notModified:
		return types.MakeErrorNotModified()
	case invalid:
		return types.MakeErrorInvalid(reason)
	case denied:
		return types.MakeErrorDenied(reason)
	case unavailable:
		return types.MakeErrorUnavailable(reason)
	default:
		return types.MakeErrorFailed(reason)
	}
}
