// The key-value store of the host.
#include "larder_key_value.h"

#include <string.h>

// The largest page of keys.
#define PAGE 1000

// Arguments of the host's functions are only read, so they need no copies.
static provider_string_t borrowed(const char *text) {
    return (provider_string_t){(uint8_t *)text, text ? strlen(text) : 0};
}

static provider_list_u8_t bytes(const void *value, size_t length) {
    return (provider_list_u8_t){(uint8_t *)value, length};
}

static bool fail(larder_provider_key_value_failure_t *failure, larder_error *error) {
    const provider_string_t *text = &failure->val.not_granted;
    switch (failure->tag) {
    case LARDER_PROVIDER_KEY_VALUE_FAILURE_NOT_GRANTED:
        larder_fail(error, LARDER_DENIED, "%.*s", (int)text->len, (const char *)text->ptr);
        break;
    case LARDER_PROVIDER_KEY_VALUE_FAILURE_NO_CALLER:
        larder_fail(error, LARDER_DENIED, "values of a caller need a caller with a subject");
        break;
    case LARDER_PROVIDER_KEY_VALUE_FAILURE_TOO_LARGE:
        larder_fail(error, LARDER_FAILED, "the key or the value is too long to be stored");
        break;
    case LARDER_PROVIDER_KEY_VALUE_FAILURE_TOO_MANY_KEYS:
        larder_fail(error, LARDER_FAILED, "too many keys are stored");
        break;
    case LARDER_PROVIDER_KEY_VALUE_FAILURE_FULL:
        larder_fail(error, LARDER_FAILED, "the key-value store is full");
        break;
    default:
        larder_fail(error, LARDER_UNAVAILABLE, "%.*s", (int)text->len, (const char *)text->ptr);
    }
    larder_provider_key_value_failure_free(failure);
    return false;
}

static bool check_key(const char *key, larder_error *error) {
    if (key && larder_is_utf8(key, strlen(key))) return true;
    return larder_fail(error, LARDER_FAILED, key ? "the key is not UTF-8" : "the key is NULL");
}

bool larder_get_value(larder_bucket bucket, const char *key, larder_text *into, bool *found, larder_error *error) {
    if (!check_key(key, error)) return false;
    provider_string_t name = borrowed(key);
    provider_option_list_u8_t value;
    larder_provider_key_value_failure_t failure;
    if (!larder_provider_key_value_get(bucket, &name, &value, &failure)) return fail(&failure, error);
    bool exists = value.is_some;
    if (exists) larder_add(into, value.val.ptr, value.val.len);
    provider_option_list_u8_free(&value);
    if (found) *found = exists;
    return exists || found || larder_fail(error, LARDER_NOT_FOUND, "%s", "");
}

bool larder_set_value(larder_bucket bucket, const char *key, const void *value, size_t length, larder_error *error) {
    if (!check_key(key, error)) return false;
    provider_string_t name = borrowed(key);
    provider_list_u8_t stored = bytes(value, length);
    larder_provider_key_value_failure_t failure;
    return larder_provider_key_value_set(bucket, &name, &stored, &failure) || fail(&failure, error);
}

bool larder_delete_value(larder_bucket bucket, const char *key, larder_error *error) {
    if (!check_key(key, error)) return false;
    provider_string_t name = borrowed(key);
    larder_provider_key_value_failure_t failure;
    return larder_provider_key_value_delete(bucket, &name, &failure) || fail(&failure, error);
}

bool larder_swap_value(larder_bucket bucket, const char *key, const larder_text *expected, const larder_text *value,
                       bool *swapped, larder_error *error) {
    if (!check_key(key, error)) return false;
    provider_string_t name = borrowed(key);
    provider_list_u8_t current = expected ? bytes(expected->ptr, expected->len) : bytes(NULL, 0);
    provider_list_u8_t next = value ? bytes(value->ptr, value->len) : bytes(NULL, 0);
    larder_provider_key_value_failure_t failure;
    bool done = larder_provider_key_value_compare_and_swap(bucket, &name, expected ? &current : NULL,
                                                           value ? &next : NULL, swapped, &failure);
    return done || fail(&failure, error);
}

bool larder_list_keys(larder_bucket bucket, const char *prefix, const provider_string_t *cursor, larder_key_page *page,
                      larder_error *error) {
    if (!check_key(prefix, error)) return false;
    provider_string_t start = borrowed(prefix), after = cursor ? *cursor : borrowed(NULL);
    larder_provider_key_value_failure_t failure;
    bool done = larder_provider_key_value_list_keys(bucket, &start, cursor ? &after : NULL, PAGE, page, &failure);
    return done || fail(&failure, error);
}
