//go:build wasip1

package provider

// The key-value store of the host.

import (
	store "larder.dev/provider/internal/bindings/larder_provider_key_value"
	wit "larder.dev/provider/internal/wit/types"
)

func hostGet(bucket Bucket, key string) ([]byte, bool, error) {
	result := store.Get(uint8(bucket), key)
	if result.IsErr() {
		return nil, false, storeError(result.Err())
	}
	value := result.Ok()
	return value.SomeOr(nil), value.IsSome(), nil
}

func hostSet(bucket Bucket, key string, value []byte) error {
	result := store.Set(uint8(bucket), key, value)
	if result.IsErr() {
		return storeError(result.Err())
	}
	return nil
}

func hostDelete(bucket Bucket, key string) error {
	result := store.Delete(uint8(bucket), key)
	if result.IsErr() {
		return storeError(result.Err())
	}
	return nil
}

func hostSwap(bucket Bucket, key string, expected, value []byte) (bool, error) {
	result := store.CompareAndSwap(uint8(bucket), key, optionalBytes(expected), optionalBytes(value))
	if result.IsErr() {
		return false, storeError(result.Err())
	}
	return result.Ok(), nil
}

func hostKeys(bucket Bucket, prefix, cursor string, limit uint32) ([]string, string, error) {
	result := store.ListKeys(uint8(bucket), prefix, option(cursor), limit)
	if result.IsErr() {
		return nil, "", storeError(result.Err())
	}
	page := result.Ok()
	return page.Keys, page.NextCursor.SomeOr(""), nil
}

func optionalBytes(bytes []byte) wit.Option[[]uint8] {
	if bytes == nil {
		return wit.None[[]uint8]()
	}
	return wit.Some(bytes)
}

func storeError(failure store.Failure) error {
	switch failure.Tag() {
	case store.FailureNotGranted:
		return Denied("%s", failure.NotGranted())
	case store.FailureNoCaller:
		return Denied("values of a caller need a caller with a subject")
	case store.FailureTooLarge:
		return Failed("the key or the value is too long to be stored")
	case store.FailureTooManyKeys:
		return Failed("too many keys are stored")
	case store.FailureFull:
		return Failed("the key-value store is full")
	default:
		return Unavailable("%s", failure.Unavailable())
	}
}
