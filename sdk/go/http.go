package provider

import "strings"

// HTTPRequest goes out through the host, which lets through what the operator granted. (net/http cannot: there are no
// sockets in a component.)
type HTTPRequest struct {
	Method, URL string
	Headers     []Pair
	Body        []byte
}

// HTTPResponse is the whole answer.
type HTTPResponse struct {
	Status  int
	Headers []Pair
	Body    []byte
}

// Get gets what a URL holds. A status other than success is the error that it means.
func Get(url string) ([]byte, error) {
	response, err := Send(HTTPRequest{Method: "GET", URL: url})
	if err != nil {
		return nil, err
	}
	return response.Body, response.Accepted()
}

// Send sends a request and waits for the whole answer.
func Send(request HTTPRequest) (HTTPResponse, error) { return send(request) }

// Header is the first value of a header, whatever the case of its name.
func (r HTTPResponse) Header(name string) string {
	for _, pair := range r.Headers {
		if strings.EqualFold(pair.Key, name) {
			return pair.Value
		}
	}
	return ""
}

// Accepted is no error if the status means success, and what it means otherwise.
func (r HTTPResponse) Accepted() error {
	const says = "the other side answered with status %d"
	switch status := r.Status; {
	case status >= 200 && status < 300:
		return nil
	case status == 304:
		return NotModified
	case status == 404 || status == 410:
		return NotFound
	case status == 401 || status == 403:
		return Denied(says, status)
	case status == 408 || status == 425 || status == 429 || status >= 500:
		return Unavailable(says, status)
	default:
		return Failed(says, status)
	}
}
