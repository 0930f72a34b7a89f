//go:build !wasip1

package provider

// Substitutes for the functions of the host outside a component: settings come from the environment and logs go to
// stderr, so that a provider can be tested with `go test`.

import (
	"fmt"
	"math"
	"os"
	"strings"
	"time"
)

func register(Reader) {}

func registerTools(ToolProvider) {}

func registerPrompts(PromptProvider) {}

func registerSearch(Searcher) {}

func registerSettings([]SettingDeclaration) {}

func hostCaller() (Caller, bool) { return Caller{}, false }

func hostMetadata() []Pair { return nil }

func hostSetting(name string) (string, bool) {
	return os.LookupEnv("LARDER_SETTING_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_")))
}

func hostLog(_ uint8, message string) { fmt.Fprintln(os.Stderr, message) }

func hostUpdated(string) {}

func hostChanged() {}

func hostProgress(float64, float64, string) {}

func hostCancelled() bool { return false }

func hostTimeLeft() time.Duration { return math.MaxInt64 }

func hostSupports(string) bool { return false }

func hostClientLogLevel() (Severity, bool) { return 0, false }

func hostLogToClient(_ Severity, _, data string) { fmt.Fprintln(os.Stderr, data) }

func hostToolsChanged() {}

func hostPromptsChanged() {}

func sendAll(requests []HTTPRequest) []HTTPResult {
	results := make([]HTTPResult, len(requests))
	for at, request := range requests {
		results[at].Err = Unavailable("%s: HTTP is available only in a host", request.URL)
	}
	return results
}
