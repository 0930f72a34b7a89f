package provider

import (
	"fmt"
	"runtime/debug"
	"time"
)

// Caller is the caller of a request.
type Caller struct {
	// Subject of the credential, if there is one.
	Subject string
	// Issuer of the credential, such as that of an OAuth token. A subject is unique only together with its issuer.
	Issuer string
	Team   string
	Scopes []string
}

// GetCaller returns the caller of the current request; false if the host itself makes the call.
func GetCaller() (Caller, bool) { return hostCaller() }

// Metadata returns the metadata of the request. The values are JSON texts.
func Metadata() []Pair { return hostMetadata() }

// Setting returns a setting from the provider's section of the configuration, or the default value.
// Outside a component: the environment variable LARDER_SETTING_NAME with the name in capitals.
func Setting(name, defaultValue string) string {
	if value, found := hostSetting(name); found {
		return value
	}
	return defaultValue
}

// LogDebug writes a message to the host's log.
func LogDebug(format string, a ...any) { hostLog(0, fmt.Sprintf(format, a...)) }

// LogInfo writes a message to the host's log.
func LogInfo(format string, a ...any) { hostLog(1, fmt.Sprintf(format, a...)) }

// LogWarn writes a message to the host's log.
func LogWarn(format string, a ...any) { hostLog(2, fmt.Sprintf(format, a...)) }

// LogError writes a message to the host's log.
func LogError(format string, a ...any) { hostLog(3, fmt.Sprintf(format, a...)) }

// ResourceUpdated notifies subscribers of this URI that its content has changed.
func ResourceUpdated(uri string) { hostUpdated(uri) }

// ResourcesChanged notifies all clients that the list of entries or templates has changed.
func ResourcesChanged() { hostChanged() }

// Progress reports the progress of a long read to the caller. A total of 0 means unknown.
func Progress(done, total float64, message string) { hostProgress(done, total, message) }

// Cancelled returns whether the request was cancelled. The host usually ends a call at once when its client cancels it or
// leaves, so that neither this function returns nor deferred functions run.
func Cancelled() bool { return hostCancelled() }

// TimeLeft returns how long this call may still take. Outside a component, there is no limit.
func TimeLeft() time.Duration { return hostTimeLeft() }

func stack() []byte { return debug.Stack() }
