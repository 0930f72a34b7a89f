// Test provider with correct and faulty behaviour, selected by the URI. The same provider exists in seven languages.
package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"larder.dev/provider"
)

const path = "trial:///{path}"

type trial struct{}

func init() { provider.Register(trial{}) }

func main() {}

func (trial) Templates(string) (provider.TemplatePage, error) {
	what := provider.Template{URITemplate: "trial://{what}", Name: "the behaviour"}
	path := provider.Template{URITemplate: path, Name: "a path"}
	return provider.TemplatePage{Templates: []provider.Template{what, path}}, nil
}

func (trial) Greedy() []string { return []string{path} }

func (trial) Read(request provider.Request) (provider.Reading, error) {
	text := ""
	what, err := request.Var("what")
	if request.Template() == path {
		what = "path"
	}
	switch what {
	case "path":
		text, err = request.Var("path")
	case "long":
		var file []byte
		file, err = os.ReadFile("/folder/long.txt")
		text = string(file)
	case "garbled":
		err = errors.New("no caf\xe9")
	case "revision":
		text = "first"
	case "http":
		text, err = get("granted")
	case "elsewhere":
		text, err = get("elsewhere")
	case "stores":
		text, err = stores(provider.SharedBucket)
	case "stores-own":
		var keys []string
		keys, err = provider.CallerBucket.Keys("")
		text = strings.Join(keys, ",")
	case "raises":
		panic("no such luck")
	case "ends":
		os.Stderr.WriteString("last words\n")
		os.Exit(3)
	case "eats":
		memory := make([]byte, 256<<20)
		text = strconv.Itoa(len(memory))
	case "spins":
		for {
		}
	default:
		err = provider.NotFound
	}
	return provider.Reading{Contents: []provider.Content{provider.Text(text, "text/plain")}}, err
}

func get(setting string) (string, error) {
	body, err := provider.Get(provider.Setting(setting, ""))
	return string(body), err
}

func stores(bucket provider.Bucket) (string, error) {
	failed := errors.Join(bucket.Set("a", []byte("1")), bucket.Set("b", []byte("2")))
	var swapped []any
	for _, expected := range [][]byte{[]byte("1"), []byte("2"), nil} {
		done, err := bucket.CompareAndSwap("b", expected, []byte("3"))
		swapped, failed = append(swapped, done), errors.Join(failed, err)
	}
	keys, err := bucket.Keys("")
	b, _, _ := bucket.Get("b")
	_, swapErr := bucket.CompareAndSwap("b", []byte("3"), nil)
	failed = errors.Join(failed, err, swapErr, bucket.Delete("a"))
	rest, _ := bucket.Keys("")
	gone, _, _ := bucket.Get("b")
	return fmt.Sprint(strings.Join(keys, ","), " ", string(b), " ", swapped[0], " ", swapped[1], " ", swapped[2], " ", len(rest)+len(gone)), failed
}
