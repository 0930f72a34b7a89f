package provider

import (
	"fmt"
	"runtime/debug"
)

// Caller is who asks.
type Caller struct {
	// Subject of the credential, if there is one.
	Subject string
	Team    string
	Scopes  []string
}

// GetCaller says who asks; nobody when the host itself asks.
func GetCaller() (Caller, bool) { return hostCaller() }

// Metadata came with the request; its values are JSON texts.
func Metadata() []Pair { return hostMetadata() }

// Setting gives a setting from the provider's own section of the configuration, or what holds without it.
// Outside of a component: the environment variable LARDER_SETTING_NAME, in capitals.
func Setting(name, otherwise string) string {
	if value, found := hostSetting(name); found {
		return value
	}
	return otherwise
}

// LogDebug writes a line into the host's log, as do its siblings.
func LogDebug(format string, a ...any) { hostLog(0, fmt.Sprintf(format, a...)) }

// LogInfo writes a line into the host's log.
func LogInfo(format string, a ...any) { hostLog(1, fmt.Sprintf(format, a...)) }

// LogWarn writes a line into the host's log.
func LogWarn(format string, a ...any) { hostLog(2, fmt.Sprintf(format, a...)) }

// LogError writes a line into the host's log.
func LogError(format string, a ...any) { hostLog(3, fmt.Sprintf(format, a...)) }

// ResourceUpdated tells those who watch this URI that its content differs.
func ResourceUpdated(uri string) { hostUpdated(uri) }

// ResourcesChanged tells everyone that the list of entries or templates differs.
func ResourcesChanged() { hostChanged() }

// Progress tells the caller how far a long read has come; a total of 0 is not known.
func Progress(done, total float64, message string) { hostProgress(done, total, message) }

// Cancelled says whether nobody waits for the answer any more. Worth asking in a long loop.
func Cancelled() bool { return hostCancelled() }

func stack() []byte { return debug.Stack() }
