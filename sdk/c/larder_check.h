// For the implementation of the SDK: checks of what a provider returns. Each function returns false for an invalid value
// and stores the reason.
#ifndef LARDER_CHECK_H
#define LARDER_CHECK_H

#include "larder.h"

// Stores a reason and returns false.
bool larder_bad(const char *format, ...) __attribute__((format(printf, 1, 2)));

// If the last check was false, prepends the path of the value to the reason. Returns its first argument.
bool larder_within(bool good, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Checks all items of a list.
#define LARDER_EACH(field, list, check) larder_each(field, (list).ptr, (list).len, sizeof *(list).ptr, check)
bool larder_each(const char *field, const void *items, size_t count, size_t size, bool (*check)(const void *));

// Checks pointer, length and encoding of a string. An identifier must not be empty.
bool larder_good_text(const char *field, const provider_string_t *text);
bool larder_good_identifier(const char *field, const provider_string_t *text);
bool larder_good_option(const char *field, const provider_option_string_t *text);
bool larder_good_bytes(const char *field, const provider_list_u8_t *bytes);
bool larder_good_body(const larder_provider_provider_types_body_t *body);
bool larder_good_role(const void *role);
bool larder_good_icon(const void *icon);
bool larder_good_metadata(const provider_list_tuple2_string_string_t *metadata);
bool larder_good_freshness(bool is_some, const larder_freshness *freshness);
bool larder_good_entry(const void *entry);
bool larder_good_string_item(const void *text);

// Returns the result of an exported function: true, or false with an error. `good` is the result of the check of a
// successful call.
bool larder_result(const char *function, bool succeeded, bool good, larder_error *error);

// The stored reason.
const char *larder_problem(void);

#endif
