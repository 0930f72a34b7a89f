//go:build wasip1

package provider

// Calls the host through the imports of the component.

import (
	client "larder.dev/provider/internal/bindings/larder_provider_http_client"
	host "larder.dev/provider/internal/bindings/larder_provider_provider_host"
	wit "larder.dev/provider/internal/wit/types"
)

func hostCaller() (Caller, bool) {
	caller := host.GetCaller()
	if caller.IsNone() {
		return Caller{}, false
	}
	found := caller.Some()
	return Caller{Subject: found.Subject.SomeOr(""), Team: found.Team, Scopes: found.Scopes}, true
}

func hostMetadata() []Pair { return pairs(host.RequestMetadata()) }

func hostSetting(name string) (string, bool) {
	value := host.Setting(valid(name))
	return value.SomeOr(""), value.IsSome()
}

func hostLog(level uint8, message string) { host.Log(level, valid(message)) }

func hostUpdated(uri string) {
	if err := checkUTF8(uri); err != nil {
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

func send(request HTTPRequest) (HTTPResponse, error) {
	if err := checkUTF8(request.Method, request.URL); err != nil {
		return HTTPResponse{}, err
	}
	result := client.Send(client.Request{
		Method: request.Method, Url: request.URL, Headers: tuples(request.Headers), Body: request.Body,
	})
	if result.IsOk() {
		response := result.Ok()
		return HTTPResponse{int(response.Status), pairs(response.Headers), response.Body}, nil
	}
	switch failure := result.Err(); failure.Tag() {
	case client.FailureDenied:
		return HTTPResponse{}, Denied("%s", failure.Denied())
	case client.FailureUnreachable:
		return HTTPResponse{}, Unavailable("%s", failure.Unreachable())
	case client.FailureTimedOut:
		return HTTPResponse{}, Unavailable("the remote server did not respond in time")
	default:
		return HTTPResponse{}, Failed("the response is larger than the host allows")
	}
}
