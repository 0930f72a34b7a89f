// Package linked shows which package links the export of an interface.
package linked

// Export is required to register an implementation. Only packages of this module can create it, and those that do link the
// exported functions.
type Export struct {
	// JSON converts values to JSON, for tools and prompts.
	JSON func(any) (string, error)
}
