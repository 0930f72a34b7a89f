package typed

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"

	"larder.dev/provider"
	"larder.dev/provider/internal/jsontext"
)

// Schema derives a schema from a type. In a struct, `json:"name"` is the name of a property,
// `description:"…"` describes it, and `enum:"a,b"` lists the allowed texts. Pointers and fields with `omitempty` or
// `omitzero` are optional. A nil slice is not valid as a list, because its JSON is null.
func Schema[T any]() provider.Schema {
	text, err := schemaOf(reflect.TypeFor[T](), nil)
	return provider.Schema{Text: text, Err: err}
}

// schemaOf returns the schema of a type. The outer types are those that contain it.
func schemaOf(of reflect.Type, outer []reflect.Type) (string, error) {
	for _, other := range outer {
		if other == of {
			return "", provider.Failed("%v contains itself, so write its schema by hand", of)
		}
	}
	outer = append(outer, of)
	switch {
	case of.Kind() == reflect.Pointer:
		return schemaOf(of.Elem(), outer)
	case implements[json.Marshaler](of) || of.Kind() == reflect.Interface:
		return "{}", nil
	case implements[encoding.TextMarshaler](of):
		return `{"type":"string"}`, nil
	}
	switch of.Kind() {
	case reflect.String:
		return `{"type":"string"}`, nil
	case reflect.Bool:
		return `{"type":"boolean"}`, nil
	case reflect.Float32, reflect.Float64:
		return `{"type":"number"}`, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return `{"type":"integer"}`, nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return `{"type":"integer","minimum":0}`, nil
	case reflect.Slice, reflect.Array:
		return listSchema(of, outer)
	case reflect.Map:
		values, err := schemaOf(of.Elem(), outer)
		return `{"type":"object","additionalProperties":` + values + `}`, err
	case reflect.Struct:
		return structSchema(of, outer)
	default:
		return "", provider.Failed("%v has no JSON Schema", of)
	}
}

func implements[Interface any](of reflect.Type) bool {
	wanted := reflect.TypeFor[Interface]()
	return of.Implements(wanted) || reflect.PointerTo(of).Implements(wanted)
}

func listSchema(of reflect.Type, outer []reflect.Type) (string, error) {
	if of.Kind() == reflect.Slice && of.Elem().Kind() == reflect.Uint8 {
		return `{"type":"string","contentEncoding":"base64"}`, nil
	}
	items, err := schemaOf(of.Elem(), outer)
	return `{"type":"array","items":` + items + `}`, err
}

func structSchema(of reflect.Type, outer []reflect.Type) (string, error) {
	properties, required, err := propertiesOf(of, outer)
	text := `{"type":"object"`
	if properties != nil {
		text += `,"properties":{` + strings.Join(properties, ",") + `}`
	}
	if required != nil {
		text += `,"required":[` + strings.Join(required, ",") + `]`
	}
	return text + `}`, err
}

// propertiesOf returns the properties of a struct, and the names of those that are required. The fields of an embedded
// struct are among them, as in encoding/json.
func propertiesOf(of reflect.Type, outer []reflect.Type) (properties, required []string, err error) {
	for field := range of.Fields() {
		name, optional, is := property(field)
		switch {
		case is:
			schema, err := schemaOf(field.Type, outer)
			if err != nil {
				return nil, nil, provider.Failed("%s.%s: %v", of.Name(), field.Name, err)
			}
			properties = append(properties, quoted(name)+":"+annotated(schema, field.Tag))
			if !optional {
				required = append(required, quoted(name))
			}
		case field.Anonymous && field.Tag.Get("json") == "" && field.Type.Kind() == reflect.Struct:
			inner, innerRequired, err := propertiesOf(field.Type, outer)
			if err != nil {
				return nil, nil, err
			}
			properties, required = append(properties, inner...), append(required, innerRequired...)
		}
	}
	return properties, required, nil
}

// property returns the name under which a field is in JSON, and whether it is optional.
func property(field reflect.StructField) (name string, optional, is bool) {
	tag := field.Tag.Get("json")
	name, options, _ := strings.Cut(tag, ",")
	embedded := field.Anonymous && name == ""
	if !field.IsExported() || tag == "-" || embedded {
		return "", false, false
	}
	if name == "" {
		name = field.Name
	}
	optional = field.Type.Kind() == reflect.Pointer || strings.Contains(options, "omit")
	return name, optional, true
}

// annotated adds the tags of a field to the schema of its type.
func annotated(schema string, tag reflect.StructTag) string {
	added := ""
	if description := tag.Get("description"); description != "" {
		added += `,"description":` + quoted(description)
	}
	if values := tag.Get("enum"); values != "" {
		names := strings.Split(values, ",")
		for at, name := range names {
			names[at] = quoted(name)
		}
		added += `,"enum":[` + strings.Join(names, ",") + `]`
	}
	inner := strings.TrimSuffix(strings.TrimPrefix(schema, "{"), "}")
	return "{" + strings.TrimPrefix(inner+added, ",") + "}"
}

func quoted(text string) string {
	quoted, _ := jsontext.Of(text)
	return quoted
}
