package provider

// Severity is the severity of a log message for the client.
type Severity uint8

// The severities.
const (
	SeverityDebug Severity = iota
	SeverityInfo
	SeverityNotice
	SeverityWarning
	SeverityError
	SeverityCritical
	SeverityAlert
	SeverityEmergency
)

// ClientSupports returns whether the client supports a capability, as a JSON Pointer into its capabilities, such as
// /elicitation/url. For calls of tools and prompts.
func ClientSupports(capability string) bool { return hostSupports(capability) }

// ClientLogLevel returns the lowest severity that the client asked for, if any.
func ClientLogLevel() (Severity, bool) { return hostClientLogLevel() }

// LogToClient sends a log message to the client. The data is converted with encoding/json. For calls of tools and
// prompts.
func LogToClient(severity Severity, logger string, data any) {
	if jsonText == nil {
		LogError("cannot log to the client: the provider exports neither tools nor prompts")
		return
	}
	text, err := jsonText(data)
	if err != nil {
		LogError("cannot log to the client: %v", err)
		return
	}
	hostLogToClient(severity, logger, text)
}

// ToolsChanged notifies clients that the list of tools has changed.
func ToolsChanged() { hostToolsChanged() }

// PromptsChanged notifies clients that the list of prompts has changed.
func PromptsChanged() { hostPromptsChanged() }
