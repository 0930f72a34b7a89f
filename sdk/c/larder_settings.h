// Typed settings. Declare each setting once, read it with the function for its kind, and, after
// `larder bindings c --with settings`, return the declarations from `larder_settings`. The host then checks the
// configuration before it serves.
#ifndef LARDER_SETTINGS_H
#define LARDER_SETTINGS_H

#include "larder.h"

#ifdef __cplusplus
extern "C" {
#endif

// The kinds of values, in the order of the contract.
enum { LARDER_TEXT_SETTING, LARDER_NUMBER_SETTING, LARDER_BOOLEAN_SETTING, LARDER_SIZE_SETTING, LARDER_DURATION_SETTING };

// Such as `const larder_declared LIMIT = {.name = "limit", .kind = LARDER_SIZE_SETTING, .default_value = "1MiB"};`
typedef struct {
    const char *name;
    int kind;
    const char *description;
    // As it would be written in the configuration; NULL for none.
    const char *default_value;
    bool required;
    // The value should come from a secret.
    bool secret;
} larder_declared;

// Read a setting or its default, and are false for an error. Without a value and a default, the result is NULL or 0, and
// it is an error if the setting is required. The caller frees a text.
bool larder_text_setting(const larder_declared *setting, char **value, larder_error *error);
bool larder_number_setting(const larder_declared *setting, double *value, larder_error *error);
bool larder_boolean_setting(const larder_declared *setting, bool *value, larder_error *error);
// In bytes. Written as `64MiB`, `1 GB` or a plain number.
bool larder_size_setting(const larder_declared *setting, uint64_t *bytes, larder_error *error);
// In milliseconds. Written as `10s` or `1m 30s`.
bool larder_duration_setting(const larder_declared *setting, uint64_t *milliseconds, larder_error *error);

#ifdef LARDER_WITH_SETTINGS
typedef exports_larder_provider_settings_provider_list_declaration_t larder_declarations;

// A function that the provider implements.
void larder_settings(larder_declarations *declarations);

// Adds a declaration to the result of `larder_settings`.
void larder_declare(larder_declarations *declarations, const larder_declared *setting);
#endif

#ifdef __cplusplus
}
#endif

#endif
