//go:build !wasip1

package provider

// The key-value store outside a component: values in the memory of the process.

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"sync"
)

var (
	nativeLock   sync.Mutex
	nativeValues = [2]map[string][]byte{{}, {}}
)

func hostGet(bucket Bucket, key string) ([]byte, bool, error) {
	nativeLock.Lock()
	defer nativeLock.Unlock()
	value, found := nativeValues[bucket][key]
	return bytes.Clone(value), found, nil
}

func hostSet(bucket Bucket, key string, value []byte) error {
	nativeLock.Lock()
	defer nativeLock.Unlock()
	nativeValues[bucket][key] = append([]byte{}, value...)
	return nil
}

func hostDelete(bucket Bucket, key string) error {
	nativeLock.Lock()
	defer nativeLock.Unlock()
	delete(nativeValues[bucket], key)
	return nil
}

func hostSwap(bucket Bucket, key string, expected, value []byte) (bool, error) {
	nativeLock.Lock()
	defer nativeLock.Unlock()
	current, found := nativeValues[bucket][key]
	if found != (expected != nil) || !bytes.Equal(current, expected) {
		return false, nil
	}
	if value == nil {
		delete(nativeValues[bucket], key)
	} else {
		nativeValues[bucket][key] = append([]byte{}, value...)
	}
	return true, nil
}

func hostKeys(bucket Bucket, prefix, _ string, _ uint32) ([]string, string, error) {
	nativeLock.Lock()
	defer nativeLock.Unlock()
	isOther := func(key string) bool { return !strings.HasPrefix(key, prefix) }
	return slices.DeleteFunc(slices.Sorted(maps.Keys(nativeValues[bucket])), isOther), "", nil
}
