package provider

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

type kind uint8

const (
	failed kind = iota
	notFound
	notModified
	invalid
	denied
	unavailable
)

// Error is an error response. The caller sees its text, so it should say how to solve the problem.
type Error struct {
	kind   kind
	reason string
}

func (e *Error) Error() string { return e.reason }

var (
	// NotFound: there is no such resource in this provider. The host then asks other providers.
	NotFound error = &Error{notFound, "not found"}
	// NotModified: the caller's known version is still current.
	NotModified error = &Error{notModified, "not modified"}
)

// Invalid is for invalid requests, for example because of a bad value or a bad cursor, or because the resource is larger
// than a limit. Clients do not repeat them.
func Invalid(format string, a ...any) error { return &Error{invalid, fmt.Sprintf(format, a...)} }

// Denied means that the caller is not authorized, or that the provider lacks a grant.
func Denied(format string, a ...any) error { return &Error{denied, fmt.Sprintf(format, a...)} }

// Unavailable is for temporary failures; the request may be retried later.
func Unavailable(format string, a ...any) error {
	return &Error{unavailable, fmt.Sprintf(format, a...)}
}

// Failed is for any other failure. Errors of other packages also become failures, unless they mean that a file does not
// exist, may not be read, or that a deadline was exceeded.
func Failed(format string, a ...any) error { return &Error{failed, fmt.Sprintf(format, a...)} }

// toError converts an error to one of the contract.
func toError(err error) *Error {
	var own *Error
	switch {
	case errors.As(err, &own):
		// Includes the text of the wrapping errors.
		return &Error{own.kind, err.Error()}
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return &Error{notFound, err.Error()}
	case errors.Is(err, fs.ErrPermission):
		return &Error{denied, err.Error()}
	case errors.Is(err, syscall.EBADF):
		// What Go reports for a path that is in no granted folder.
		return &Error{denied, err.Error() + "; no granted folder contains it"}
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &Error{unavailable, err.Error()}
	default:
		return &Error{failed, err.Error()}
	}
}

// errorOf converts an error of a method. In Read, a file that does not exist is a resource that does not exist. Elsewhere,
// it is a failure.
func errorOf(method string, err error) *Error {
	converted := toError(err)
	var own *Error
	if converted.kind != notFound || errors.As(err, &own) {
		return converted
	}
	if method != "Read" {
		return &Error{failed, converted.reason}
	}
	LogDebug("Read: not found, because of %s", converted.reason)
	return converted
}

// guarded converts a panic to a failure, with its stack in the log. Otherwise the panic would be a trap.
func guarded[T any](name string, call func() (T, error)) (result T, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			LogError("panic in %s: %v\n%s", name, reason, stack())
			err = Failed("panic: %v", reason)
		}
	}()
	return call()
}
