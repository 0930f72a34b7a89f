// Implementation of larder_settings.h.
#include "larder_settings.h"

#include <stdlib.h>
#include <string.h>

// Reads the text of a setting, which is NULL if there is none.
static bool read_text(const larder_declared *setting, char **text, larder_error *error) {
    *text = larder_setting(setting->name, setting->default_value);
    if (*text || !setting->required) return true;
    return larder_fail(error, LARDER_FAILED, "setting `%s` is missing", setting->name);
}

// Returns the result of a parser, and frees the text.
static bool parsed(bool good, const larder_declared *setting, char *text, const char *what, larder_error *error) {
    if (!good) larder_fail(error, LARDER_FAILED, "setting `%s`: \"%s\" is not a %s", setting->name, text, what);
    free(text);
    return good;
}

bool larder_text_setting(const larder_declared *setting, char **value, larder_error *error) {
    return read_text(setting, value, error);
}

bool larder_number_setting(const larder_declared *setting, double *value, larder_error *error) {
    char *text, *end = NULL;
    *value = 0;
    if (!read_text(setting, &text, error) || !text) return text != NULL || !setting->required;
    *value = strtod(text, &end);
    return parsed(end != text && !*end, setting, text, "number", error);
}

bool larder_boolean_setting(const larder_declared *setting, bool *value, larder_error *error) {
    char *text;
    *value = false;
    if (!read_text(setting, &text, error) || !text) return text != NULL || !setting->required;
    *value = strcmp(text, "true") == 0;
    return parsed(*value || strcmp(text, "false") == 0, setting, text, "boolean", error);
}

typedef struct {
    const char *name;
    uint64_t factor;
} unit;

static const unit SIZES[] = {
    {"", 1}, {"B", 1}, {"kB", 1000}, {"KB", 1000}, {"MB", 1000000}, {"GB", 1000000000},
    {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {NULL, 0},
};

static const unit DURATIONS[] = {
    {"ms", 1}, {"s", 1000}, {"sec", 1000}, {"second", 1000}, {"seconds", 1000}, {"m", 60000}, {"min", 60000},
    {"minute", 60000}, {"minutes", 60000}, {"h", 3600000}, {"hr", 3600000}, {"hour", 3600000}, {"hours", 3600000},
    {"d", 86400000}, {"day", 86400000}, {"days", 86400000}, {NULL, 0},
};

// Parses a number and a unit, and moves `from` behind them and the spaces that follow.
static bool parse_amount(const char **from, const unit *units, uint64_t *amount) {
    const char *at = *from;
    uint64_t number = 0;
    if (*at < '0' || *at > '9') return false;
    for (; *at >= '0' && *at <= '9'; at++)
        if (__builtin_mul_overflow(number, (uint64_t)10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(*at - '0'), &number))
            return false;
    at += strspn(at, " ");
    size_t length = strcspn(at, " 0123456789");
    for (; units->name; units++) {
        if (strlen(units->name) != length || memcmp(units->name, at, length) != 0) continue;
        *from = at + length + strspn(at + length, " ");
        return !__builtin_mul_overflow(number, units->factor, amount);
    }
    return false;
}

bool larder_size_setting(const larder_declared *setting, uint64_t *bytes, larder_error *error) {
    char *text;
    *bytes = 0;
    if (!read_text(setting, &text, error) || !text) return text != NULL || !setting->required;
    const char *rest = text;
    bool good = parse_amount(&rest, SIZES, bytes) && !*rest;
    return parsed(good, setting, text, "size, such as 64MiB", error);
}

bool larder_duration_setting(const larder_declared *setting, uint64_t *milliseconds, larder_error *error) {
    char *text;
    *milliseconds = 0;
    if (!read_text(setting, &text, error) || !text) return text != NULL || !setting->required;
    const char *rest = text;
    uint64_t part;
    bool good = *rest;
    while (good && *rest) {
        good = parse_amount(&rest, DURATIONS, &part) && !__builtin_add_overflow(*milliseconds, part, milliseconds);
    }
    return parsed(good, setting, text, "duration, such as 10s", error);
}

#ifdef LARDER_WITH_SETTINGS
void larder_declare(larder_declarations *declarations, const larder_declared *setting) {
    size_t known = declarations->len;
    exports_larder_provider_settings_provider_declaration_t *all = larder_new(known + 1, sizeof *all);
    if (known) memcpy(all, declarations->ptr, known * sizeof *all);
    free(declarations->ptr);
    all[known] = (exports_larder_provider_settings_provider_declaration_t){
        .name = larder_string(setting->name),
        .kind = (uint8_t)setting->kind,
        .description = larder_string(setting->description),
        .default_ = larder_some(setting->default_value),
        .required = setting->required,
        .secret = setting->secret,
    };
    declarations->ptr = all;
    declarations->len = known + 1;
}
#endif
