//go:build wasip1

package provider

// Calls the host through the imports of the component.

import (
	"math"
	"time"

	client "larder.dev/provider/internal/bindings/larder_provider_http_client"
	interaction "larder.dev/provider/internal/bindings/larder_provider_interaction_host"
	host "larder.dev/provider/internal/bindings/larder_provider_provider_host"
	wit "larder.dev/provider/internal/wit/types"
)

func hostCaller() (Caller, bool) {
	caller := host.GetCaller()
	if caller.IsNone() {
		return Caller{}, false
	}
	found := caller.Some()
	return Caller{Subject: found.Subject.SomeOr(""), Issuer: found.Issuer.SomeOr(""), Team: found.Team, Scopes: found.Scopes}, true
}

func hostMetadata() []Pair { return pairs(host.RequestMetadata()) }

func hostSetting(name string) (string, bool) {
	value := host.Setting(valid(name))
	return value.SomeOr(""), value.IsSome()
}

func hostLog(level uint8, message string) { host.Log(level, valid(message)) }

func hostUpdated(uri string) {
	if err := checkID("URI", uri); err != nil {
		LogError("cannot notify of an update: %v", err)
		return
	}
	host.ResourceUpdated(uri)
}

func hostChanged() { host.ResourcesChanged() }

func hostProgress(done, total float64, message string) {
	known := wit.None[float64]()
	if total != 0 {
		known = wit.Some(total)
	}
	host.Progress(done, known, option(message))
}

func hostCancelled() bool { return host.Cancelled() }

func hostTimeLeft() time.Duration {
	return time.Duration(min(host.TimeLeftMs(), math.MaxInt64/uint64(time.Millisecond))) * time.Millisecond
}

func sendAll(requests []HTTPRequest) []HTTPResult {
	return mapSlice(client.SendAll(mapSlice(requests, contractRequest)), resultFrom)
}

func contractRequest(request HTTPRequest) client.Request {
	timeout := wit.None[uint64]()
	if request.Timeout > 0 {
		// Rounded up, because 0 would be no time at all.
		timeout = wit.Some(uint64((request.Timeout + time.Millisecond - 1) / time.Millisecond))
	}
	return client.Request{
		Method: request.Method, Url: request.URL, Headers: tuples(request.Headers), Body: request.Body, TimeoutMs: timeout,
	}
}

func resultFrom(result wit.Result[client.Response, client.Failure]) HTTPResult {
	if result.IsOk() {
		response := result.Ok()
		return HTTPResult{Response: HTTPResponse{int(response.Status), pairs(response.Headers), response.Body}}
	}
	switch failure := result.Err(); failure.Tag() {
	case client.FailureDenied:
		return HTTPResult{Err: Denied("%s", failure.Denied())}
	case client.FailureUnreachable:
		return HTTPResult{Err: Unavailable("%s", failure.Unreachable())}
	case client.FailureTimedOut:
		return HTTPResult{Err: Unavailable("the remote server did not respond in time")}
	default:
		return HTTPResult{Err: Failed("the response is larger than the host allows")}
	}
}

func hostSupports(capability string) bool { return interaction.ClientSupports(valid(capability)) }

func hostClientLogLevel() (Severity, bool) {
	level := interaction.ClientLogLevel()
	if level.IsNone() {
		return 0, false
	}
	return Severity(level.Some()), true
}

func hostLogToClient(severity Severity, logger, data string) {
	interaction.LogToClient(uint8(min(severity, SeverityEmergency)), option(logger), data)
}

func hostToolsChanged() { interaction.ToolsChanged() }

func hostPromptsChanged() { interaction.PromptsChanged() }
