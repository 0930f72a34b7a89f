package provider

// Bucket holds values that outlive a call. The operator grants each bucket.
type Bucket uint8

const (
	// SharedBucket is the same for all callers of the provider. It needs the grant `key_value = ["shared"]`.
	SharedBucket Bucket = iota
	// CallerBucket belongs to the caller of this call. It needs the grant `key_value = ["caller"]`, and a caller with a
	// subject.
	CallerBucket
)

// The number of keys that the host returns at once.
const keysPerPage = 1000

// Get returns a value, and whether there is one.
func (b Bucket) Get(key string) ([]byte, bool, error) {
	if err := checkText("key", key); err != nil {
		return nil, false, err
	}
	return hostGet(b, key)
}

// Set stores a value. It is on the disk when this returns.
func (b Bucket) Set(key string, value []byte) error {
	if err := checkText("key", key); err != nil {
		return err
	}
	return hostSet(b, key, value)
}

// Delete removes a key, if it exists.
func (b Bucket) Delete(key string) error {
	if err := checkText("key", key); err != nil {
		return err
	}
	return hostDelete(b, key)
}

// CompareAndSwap stores a value, or removes the key if the value is nil, if the key has the expected value, where nil
// means that it does not exist. It returns whether it did so.
func (b Bucket) CompareAndSwap(key string, expected, value []byte) (bool, error) {
	if err := checkText("key", key); err != nil {
		return false, err
	}
	return hostSwap(b, key, expected, value)
}

// Keys returns all keys that begin with a prefix, in order.
func (b Bucket) Keys(prefix string) ([]string, error) {
	if err := checkText("prefix", prefix); err != nil {
		return nil, err
	}
	var keys []string
	cursor := ""
	for {
		page, next, err := hostKeys(b, prefix, cursor, keysPerPage)
		keys = append(keys, page...)
		if err != nil || next == "" {
			return keys, err
		}
		cursor = next
	}
}
