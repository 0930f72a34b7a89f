package main

// Native tests: `go test .` needs neither a component nor larder.

import (
	"errors"
	"testing"

	"larder.dev/provider"
)

// read calls the method as a server does, which also finds the template and the values of its variables.
func read(request provider.Request) (string, error) {
	reading, err := greetings{}.Read(request)
	if err != nil {
		return "", err
	}
	return string(reading.Contents[0].Bytes), nil
}

func TestTheMethodsReturnGreetings(t *testing.T) {
	who := []provider.Variable{{Name: "who", Value: "Ada"}}
	ada := provider.Request{URI: "@NAME@://hello/Ada", Matched: &provider.Match{URITemplate: helloWho, Variables: who}}
	check := func(request provider.Request, expected string) {
		if text, err := read(request); text != expected || err != nil {
			t.Errorf("%s: %q, %v", request.URI, text, err)
		}
	}
	check(provider.Request{URI: hello}, "Hello, world!\n")
	check(ada, "Hello, Ada!\n")
	if _, err := read(provider.Request{URI: "@NAME@://nothing"}); !errors.Is(err, provider.NotFound) {
		t.Error(err)
	}
}
