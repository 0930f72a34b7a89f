package provider

// Native tests of tools, prompts and settings.

import (
	"reflect"
	"testing"
	"time"
)

func TestToolsAreCalledByName(t *testing.T) {
	tools := Tools{{Name: "a", Call: func(call ToolCall) (ToolResult, error) { return ToolText(call.Arguments), nil }}, {Name: "b"}}
	if result, err := tools.CallTool(ToolCall{Name: "a", Arguments: "{}"}); err != nil || result.Content[0].Value != BlockText("{}") {
		t.Error(result, err)
	}
	for _, name := range []string{"b", "other"} {
		if _, err := tools.CallTool(ToolCall{Name: name}); err != NotFound {
			t.Error(name, err)
		}
	}
}

func TestPromptsCheckTheirArguments(t *testing.T) {
	prompts := Prompts{{
		Name: "greet",
		Arguments: []Argument{{Name: "who", Required: true}, {Name: "tone", Complete: func(query ArgumentQuery) (Completion, error) {
			return Matching([]string{"formal", "friendly"}, query.Prefix), nil
		}}},
		Get: func(request PromptRequest) (PromptResult, error) {
			who, _ := request.Argument("who")
			return PromptResult{Description: who}, nil
		},
	}}
	result, err := prompts.GetPrompt(PromptRequest{Name: "greet", Arguments: []Pair{{"who", "Ada"}}})
	if result.Description != "Ada" || err != nil {
		t.Error(result, err)
	}
	if _, err := prompts.GetPrompt(PromptRequest{Name: "greet"}); err == nil || err.Error() != "`who` is missing" {
		t.Error(err)
	}
	if _, err := prompts.GetPrompt(PromptRequest{Name: "other"}); err != NotFound {
		t.Error(err)
	}
	complete := func(prompt, argument string) ([]string, error) {
		found, err := prompts.CompleteArgument(ArgumentQuery{Prompt: prompt, Argument: argument, Prefix: "fr"})
		return found.Values, err
	}
	if values, err := complete("greet", "tone"); !reflect.DeepEqual(values, []string{"friendly"}) || err != nil {
		t.Error(values, err)
	}
	if values, err := complete("greet", "who"); values != nil || err != nil {
		t.Error(values, err)
	}
	if _, err := complete("greet", "other"); err != NotFound {
		t.Error(err)
	}
}

func TestSettingsAreTyped(t *testing.T) {
	declare := func(declarer SettingsDeclarer, expected SettingDeclaration) {
		if actual := declarer.Declarations()[0]; actual != expected {
			t.Errorf("got %+v, want %+v", actual, expected)
		}
	}
	declare(TypedSetting[string]{Name: "a", Description: "A.", Default: "x", Secret: true},
		SettingDeclaration{Name: "a", Description: "A.", Default: "x", Secret: true})
	declare(TypedSetting[time.Duration]{Name: "b", Default: 90 * time.Second},
		SettingDeclaration{Name: "b", Kind: DurationSetting, Default: "90s"})
	declare(TypedSetting[ByteSize]{Name: "c", Default: 1 << 20}, SettingDeclaration{Name: "c", Kind: SizeSetting, Default: "1048576"})
	declare(TypedSetting[float64]{Name: "d", Default: 1e6}, SettingDeclaration{Name: "d", Kind: NumberSetting, Default: "1000000"})
	declare(TypedSetting[bool]{Name: "e", Required: true}, SettingDeclaration{Name: "e", Kind: BooleanSetting, Required: true})
	if _, err := (TypedSetting[int]{Name: "none", Required: true}).Get(); toError(err).reason != "setting `none` is missing" {
		t.Error(err)
	}
	t.Setenv("LARDER_SETTING_SIZE", "2 MiB")
	if value, err := (TypedSetting[ByteSize]{Name: "size"}).Get(); value != 2<<20 || err != nil {
		t.Error(value, err)
	}
	if value, err := (TypedSetting[int]{Name: "none", Default: 7}).Get(); value != 7 || err != nil {
		t.Error(value, err)
	}
	if _, err := (TypedSetting[time.Duration]{Name: "size"}).Get(); toError(err).reason != "setting `size`: \"2 MiB\" is not a duration, such as 10s" {
		t.Error(err)
	}
}

func TestUnitsAreThoseOfTheConfiguration(t *testing.T) {
	for text, expected := range map[string]ByteSize{"64MiB": 64 << 20, "1 GB": 1e9, "7": 7, "3B": 3} {
		if size, err := parseSize(text); size != expected || err != nil {
			t.Error(text, size, err)
		}
	}
	for _, text := range []string{"", "MiB", "1.5MiB", "-1", "1 M", "99999999999GiB", "1 MiB extra"} {
		if size, err := parseSize(text); err == nil {
			t.Error(text, size)
		}
	}
	for text, expected := range map[string]time.Duration{
		"10s": 10 * time.Second, "1m 30s": 90 * time.Second, "1h30m": 90 * time.Minute, "2 days": 48 * time.Hour, "250ms": time.Second / 4,
	} {
		if duration, err := parseDuration(text); duration != expected || err != nil {
			t.Error(text, duration, err)
		}
	}
	for _, text := range []string{"", "10", "s", "1.5s", "-1s", "10x", "999999999999w", "200000d 200000d"} {
		if duration, err := parseDuration(text); err == nil {
			t.Error(text, duration)
		}
	}
}
