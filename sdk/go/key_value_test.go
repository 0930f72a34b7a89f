package provider

import (
	"slices"
	"testing"
)

func TestValuesAreStoredSwappedListedAndDeleted(t *testing.T) {
	for _, key := range []string{"a/2", "a/1", "b"} {
		if err := SharedBucket.Set(key, []byte(key)); err != nil {
			t.Fatal(err)
		}
	}
	value, found, err := SharedBucket.Get("b")
	if string(value) != "b" || !found || err != nil {
		t.Errorf("%q %v %v", value, found, err)
	}
	if _, found, _ := CallerBucket.Get("b"); found {
		t.Error("the buckets are the same")
	}
	if keys, _ := SharedBucket.Keys("a/"); !slices.Equal(keys, []string{"a/1", "a/2"}) {
		t.Error(keys)
	}
	steps := []struct {
		expected, value []byte
		swapped         bool
	}{{nil, []byte("x"), false}, {[]byte("b"), []byte{}, true}, {[]byte{}, nil, true}, {nil, []byte("y"), true}}
	for at, step := range steps {
		if swapped, err := SharedBucket.CompareAndSwap("b", step.expected, step.value); swapped != step.swapped || err != nil {
			t.Errorf("%d: %v %v", at, swapped, err)
		}
	}
	for _, key := range []string{"a/2", "a/1", "b", "c"} {
		if err := SharedBucket.Delete(key); err != nil {
			t.Fatal(err)
		}
	}
	if keys, _ := SharedBucket.Keys(""); len(keys) != 0 {
		t.Error(keys)
	}
	if err := SharedBucket.Set("\xff", nil); err == nil {
		t.Error("a key that is not UTF-8 was accepted")
	}
}
