// Builds the component and tests it with `larder read`.
package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func larder() string {
	if path := os.Getenv("LARDER"); path != "" {
		return path
	}
	return "larder"
}

// Returns the content of a URI, or an empty string if it does not exist.
func read(plugins, uri string) string {
	text, err := exec.Command(larder(), "read", uri, "--plugins", plugins).Output()
	if err != nil {
		return ""
	}
	return string(text)
}

func TestGreetings(t *testing.T) {
	build := exec.Command("make", "-C", "..", "LARDER="+larder())
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	plugins := t.TempDir()
	component, err := os.ReadFile("../@NAME@.wasm")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(plugins, "@NAME@.wasm"), component, 0o644); err != nil {
		t.Fatal(err)
	}
	for uri, want := range map[string]string{
		"@NAME@://hello":     "Hello, world!\n",
		"@NAME@://hello/Ada": "Hello, Ada!\n",
		"@NAME@://nothing":   "",
	} {
		if got := read(plugins, uri); got != want {
			t.Errorf("%s: got %q, want %q", uri, got, want)
		}
	}
}
