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

// Error is an answer other than success. Its text reaches the caller: say what can be done.
type Error struct {
	kind   kind
	reason string
}

func (e *Error) Error() string { return e.reason }

var (
	// NotFound: the URI names nothing here. Another provider may still know it.
	NotFound error = &Error{notFound, "not found"}
	// NotModified: the version that the caller holds is still the current one.
	NotModified error = &Error{notModified, "not modified"}
)

// Invalid is for a question that makes no sense: a bad value, a bad cursor.
func Invalid(format string, a ...any) error { return &Error{invalid, fmt.Sprintf(format, a...)} }

// Denied is for what this caller may not, or what this provider was not granted.
func Denied(format string, a ...any) error { return &Error{denied, fmt.Sprintf(format, a...)} }

// Unavailable is for what is worth another try later.
func Unavailable(format string, a ...any) error {
	return &Error{unavailable, fmt.Sprintf(format, a...)}
}

// Failed is for everything else. An error of any other package is one, too, unless it says that a file is not there,
// may not be read, or took too long.
func Failed(format string, a ...any) error { return &Error{failed, fmt.Sprintf(format, a...)} }

// explained is what an error means in the contract.
func explained(err error) *Error {
	var own *Error
	switch {
	case errors.As(err, &own):
		// With what was said around it.
		return &Error{own.kind, err.Error()}
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return &Error{notFound, err.Error()}
	case errors.Is(err, fs.ErrPermission):
		return &Error{denied, err.Error()}
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &Error{unavailable, err.Error()}
	default:
		return &Error{failed, err.Error()}
	}
}

// guarded turns a panic into a failure, with its stack in the log: what escapes ends the guest.
func guarded[T any](name string, answer func() (T, error)) (result T, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			LogError("panic in %s: %v\n%s", name, reason, stack())
			err = Failed("panic: %v", reason)
		}
	}()
	return answer()
}
