// Values that outlive a call, in buckets that the operator grants. All functions return false for an error.
#ifndef LARDER_KEY_VALUE_H
#define LARDER_KEY_VALUE_H

#include "larder.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef larder_provider_key_value_bucket_t larder_bucket;

// All callers of the provider read and write the same values. It needs the grant `key_value = ["shared"]`.
#define LARDER_SHARED LARDER_PROVIDER_KEY_VALUE_BUCKET_SHARED
// Only calls of the same caller read and write these values. It needs the grant `key_value = ["caller"]`, and a caller
// with a subject.
#define LARDER_CALLER LARDER_PROVIDER_KEY_VALUE_BUCKET_CALLER

// Appends a value to `into`. Sets `found` to whether there is one; `found` can be NULL if the key must exist, and a
// missing key is then the error `LARDER_NOT_FOUND`.
bool larder_get_value(larder_bucket bucket, const char *key, larder_text *into, bool *found, larder_error *error);

// Stores a value. It is on the disk when this returns.
bool larder_set_value(larder_bucket bucket, const char *key, const void *value, size_t length, larder_error *error);

// Removes a key, if it exists.
bool larder_delete_value(larder_bucket bucket, const char *key, larder_error *error);

// Stores a value, or removes the key if `value` is NULL, if the key has the expected value, where NULL means that it does
// not exist. Sets `swapped` to whether it did so.
bool larder_swap_value(larder_bucket bucket, const char *key, const larder_text *expected, const larder_text *value,
                       bool *swapped, larder_error *error);

// Lists the keys that begin with a prefix, at most 1,000. `cursor` is NULL for the first page. Free the page with
// `larder_provider_key_value_key_page_free`.
typedef larder_provider_key_value_key_page_t larder_key_page;
bool larder_list_keys(larder_bucket bucket, const char *prefix, const provider_string_t *cursor, larder_key_page *page,
                      larder_error *error);

#ifdef __cplusplus
}
#endif

#endif
