//go:build !wasip1

package provider

// Substitutes for the functions of the host outside a component: settings come from the environment and logs go to
// stderr, so that a provider can be tested with `go test`.

import (
	"fmt"
	"os"
	"strings"
)

func register(Reader) {}

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

func send(request HTTPRequest) (HTTPResponse, error) {
	return HTTPResponse{}, Unavailable("%s: HTTP is available only in a host", request.URL)
}
