// Builds the component and asks it as its users will: through `larder read`.
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

// What a URI holds; nothing if nobody has it.
func read(plugins, uri string) string {
	text, err := exec.Command(larder(), "read", uri, "--plugins", plugins).Output()
	if err != nil {
		return ""
	}
	return string(text)
}

func TestItGreets(t *testing.T) {
	build := exec.Command("make", "-C", "..", "LARDER="+larder())
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
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
			t.Errorf("%s: %q instead of %q", uri, got, want)
		}
	}
}
