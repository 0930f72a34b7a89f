package provider

import (
	"strings"
	"time"
)

// HTTPRequest is sent through the host, limited to the hosts that the operator granted. (net/http does not work in a
// component, because it needs sockets.)
type HTTPRequest struct {
	Method, URL string
	Headers     []Pair
	Body        []byte
	// Timeout for the whole exchange; 0 means the limit of the host. The end of the call is always a limit.
	Timeout time.Duration
}

// HTTPResponse is a complete response.
type HTTPResponse struct {
	Status  int
	Headers []Pair
	Body    []byte
}

// Get sends a GET request. A status other than success is returned as the corresponding error.
func Get(url string) ([]byte, error) {
	response, err := Send(HTTPRequest{Method: "GET", URL: url})
	if err != nil {
		return nil, err
	}
	return response.Body, response.Accepted()
}

// Send sends a request and waits for the complete response.
func Send(request HTTPRequest) (HTTPResponse, error) {
	result := SendAll(request)[0]
	return result.Response, result.Err
}

// HTTPResult is the response to one of several requests, or the reason why there is none.
type HTTPResult struct {
	Response HTTPResponse
	Err      error
}

// SendAll sends several requests at once and waits until all of them have ended. The results are in the order of the
// requests.
func SendAll(requests ...HTTPRequest) []HTTPResult {
	results := make([]HTTPResult, len(requests))
	var valid []HTTPRequest
	for at, request := range requests {
		results[at].Err = checkAll(checkText("Method", request.Method), checkText("URL", request.URL))
		if results[at].Err == nil {
			valid = append(valid, request)
		}
	}
	if len(valid) == 0 {
		return results
	}
	sent := sendAll(valid)
	for at := range results {
		if results[at].Err == nil {
			results[at], sent = sent[0], sent[1:]
		}
	}
	return results
}

// Header returns the first value of a header. Names are case-insensitive.
func (r HTTPResponse) Header(name string) string {
	for _, pair := range r.Headers {
		if strings.EqualFold(pair.Key, name) {
			return pair.Value
		}
	}
	return ""
}

// Accepted returns nil if the status is a success, or the error that corresponds to the status.
func (r HTTPResponse) Accepted() error {
	const reason = "the remote server responded with status %d"
	switch status := r.Status; {
	case status >= 200 && status < 300:
		return nil
	case status == 304:
		return NotModified
	case status == 404 || status == 410:
		return NotFound
	case status == 401 || status == 403:
		return Denied(reason, status)
	case status == 408 || status == 425 || status == 429 || status >= 500:
		return Unavailable(reason, status)
	default:
		return Failed(reason, status)
	}
}
