// @NAME@ is a provider for Larder. What it offers is in the folder provider.
package main

// The functions that the host calls; they call those of the provider.
import _ "@NAME@/bindings/wit_exports"

// It is a library, and this is never run.
func main() {}
