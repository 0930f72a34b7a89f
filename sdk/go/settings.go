package provider

import (
	"fmt"
	"strconv"
	"time"

	"larder.dev/provider/internal/linked"
)

// TypedSetting is a setting from the provider's section of the configuration. Register it with the package settings, so that
// the host can check the configuration before it serves.
//
//	var limit = provider.TypedSetting[provider.ByteSize]{Name: "limit", Description: "Size of a page.", Default: 1 << 20}
type TypedSetting[T SettingType] struct {
	Name, Description string
	// Default is the value if the setting is absent. Its zero value is not declared.
	Default  T
	Required bool
	// Secret means that the value should come from a secret.
	Secret bool
}

// SettingType is a type of settings.
type SettingType interface {
	string | bool | int | float64 | ByteSize | time.Duration
}

// ByteSize is a number of bytes, such as 64MiB.
type ByteSize uint64

// SettingKind is the kind of a setting's value.
type SettingKind uint8

// The kinds of settings.
const (
	TextSetting SettingKind = iota
	NumberSetting
	BooleanSetting
	SizeSetting
	DurationSetting
)

// SettingDeclaration is what the host knows about a setting.
type SettingDeclaration struct {
	Name        string
	Kind        SettingKind
	Description string
	// Default is written as in the configuration; empty for none.
	Default          string
	Required, Secret bool
}

// SettingsDeclarer declares settings; [TypedSetting] does.
type SettingsDeclarer interface {
	Declarations() []SettingDeclaration
}

// Get returns the value, or the default.
func (s TypedSetting[T]) Get() (T, error) {
	text, found := hostSetting(s.Name)
	switch {
	case found:
		value, err := parseSetting[T](text)
		return value, within(fmt.Sprintf("setting `%s`: ", s.Name), err)
	case s.Required:
		return s.Default, Failed("setting `%s` is missing", s.Name)
	default:
		return s.Default, nil
	}
}

// Declarations returns the declaration of this setting.
func (s TypedSetting[T]) Declarations() []SettingDeclaration {
	var none T
	declared := SettingDeclaration{
		Name: s.Name, Kind: settingKind(none), Description: s.Description, Required: s.Required, Secret: s.Secret,
	}
	if s.Default != none {
		declared.Default = formatSetting(s.Default)
	}
	return []SettingDeclaration{declared}
}

func settingKind(value any) SettingKind {
	switch value.(type) {
	case bool:
		return BooleanSetting
	case int, float64:
		return NumberSetting
	case ByteSize:
		return SizeSetting
	case time.Duration:
		return DurationSetting
	default:
		return TextSetting
	}
}

func formatSetting(value any) string {
	if duration, is := value.(time.Duration); is {
		return formatDuration(duration)
	}
	if number, is := value.(float64); is {
		return strconv.FormatFloat(number, 'f', -1, 64)
	}
	return fmt.Sprint(value)
}

func parseSetting[T SettingType](text string) (value T, err error) {
	switch into := any(&value).(type) {
	case *string:
		*into = text
	case *bool:
		*into, err = strconv.ParseBool(text)
	case *int:
		*into, err = strconv.Atoi(text)
	case *float64:
		*into, err = strconv.ParseFloat(text, 64)
	case *ByteSize:
		*into, err = parseSize(text)
	case *time.Duration:
		*into, err = parseDuration(text)
	}
	if err != nil {
		err = Failed("%q is not a %s", text, kindNames[settingKind(value)])
	}
	return value, err
}

var kindNames = [...]string{"text", "number", "boolean", "size, such as 64MiB", "duration, such as 10s"}

// settingsOf returns the declarations of several settings.
func settingsOf(declarers []SettingsDeclarer) []SettingDeclaration {
	var all []SettingDeclaration
	for _, declarer := range declarers {
		all = append(all, declarer.Declarations()...)
	}
	return all
}

func (d SettingDeclaration) check() error {
	if d.Kind > DurationSetting {
		return Failed("Kind is %d, which is not a SettingKind", d.Kind)
	}
	return checkID("Name", d.Name)
}

// RegisterSettings is called by the package settings.
func RegisterSettings(_ linked.Export, declarers ...SettingsDeclarer) {
	registerSettings(settingsOf(declarers))
}
