package provider

// Checks what a provider returns. Without these checks, a mistake would be a trap, or an error of the host that does not
// name the field. The errors do, as in `Entries[1].URI is empty`. Empty lists and absent values are allowed.

import (
	"fmt"
	"unicode/utf8"
)

// checkAll returns the first error.
func checkAll(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// checkEach checks each value of a list.
func checkEach[T any](list string, values []T, check func(T) error) error {
	for at, value := range values {
		if err := within(fmt.Sprintf("%s[%d].", list, at), check(value)); err != nil {
			return err
		}
	}
	return nil
}

// within prepends the path of a value to an error about one of its fields.
func within(path string, err error) error {
	if err == nil {
		return nil
	}
	return Failed("%s%v", path, err)
}

// checkText returns an error if a URI or an identifier is not UTF-8. Replacing characters would change its meaning.
func checkText(field, text string) error {
	if !utf8.ValidString(text) {
		return Failed("%s %q is not UTF-8", field, text)
	}
	return nil
}

// checkGiven returns an error if a text is empty.
func checkGiven(field, text string) error {
	if text == "" {
		return Failed("%s is empty", field)
	}
	return nil
}

// checkID does both.
func checkID(field, text string) error {
	return checkAll(checkGiven(field, text), checkText(field, text))
}

func (d Description) check() error {
	for at, claim := range d.Claims {
		if err := checkText(fmt.Sprintf("Claims[%d]", at), claim); err != nil {
			return err
		}
	}
	return nil
}

func (p EntryPage) check() error {
	return checkAll(checkEach("Entries", p.Entries, Entry.check), checkText("NextCursor", p.NextCursor))
}

func (e Entry) check() error {
	return checkAll(checkID("URI", e.URI), checkGiven("Name", e.Name), e.Details.check())
}

func (p TemplatePage) check() error {
	return checkAll(checkEach("Templates", p.Templates, Template.check), checkText("NextCursor", p.NextCursor))
}

func (t Template) check() error {
	return checkAll(checkID("URITemplate", t.URITemplate), checkGiven("Name", t.Name), t.Details.check())
}

func (d *Details) check() error {
	if d == nil {
		return nil
	}
	return within("Details.", checkAll(checkRoles(d.Audience), checkIcons(d.Icons)))
}

func checkRoles(audience []Role) error {
	for at, role := range audience {
		if role > Assistant {
			return Failed("Audience[%d] is %d, which is not a Role", at, role)
		}
	}
	return nil
}

func checkIcons(icons []Icon) error {
	return checkEach("Icons", icons, func(icon Icon) error {
		if icon.Theme > Dark {
			return Failed("Theme is %d, which is not a Theme", icon.Theme)
		}
		return checkID("Src", icon.Src)
	})
}

func (r Reading) check() error {
	return checkEach("Contents", r.Contents, func(content Content) error { return checkText("URI", content.URI) })
}
