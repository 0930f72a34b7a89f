// The JSON reader of larder_interactive.h. It expects valid JSON, as the host provides it; other text has no values.
#include "larder_interactive.h"

#include <stdlib.h>
#include <string.h>

// The rest of a JSON text.
typedef struct {
    const char *at, *end;
} json;

static char peek(json *in) {
    while (in->at < in->end && strchr(" \t\r\n", *in->at) && *in->at) in->at++;
    return in->at < in->end ? *in->at : 0;
}

static bool skip_string(json *in) {
    for (in->at++; in->at < in->end; in->at++) {
        if (*in->at == '"') return in->at++, true;
        if (*in->at == '\\') in->at++;
    }
    return false;
}

// Moves behind a value.
static bool skip_value(json *in) {
    size_t depth = 0;
    do {
        char first = peek(in);
        if (!first) return false;
        if (first == '"') {
            if (!skip_string(in)) return false;
        } else if (first == '{' || first == '[') {
            depth++, in->at++;
        } else if (first == '}' || first == ']') {
            if (!depth) return false;
            depth--, in->at++;
        } else if (first == ',' || first == ':') {
            if (!depth) return false;
            in->at++;
        } else {
            while (in->at < in->end && !strchr(",:{}[]\" \t\r\n", *in->at)) in->at++;
        }
    } while (depth);
    return true;
}

static int hex4(const char *at) {
    int value = 0;
    for (int digit = 0; digit < 4; digit++) {
        char c = (char)(at[digit] | 0x20);
        if (at[digit] >= '0' && at[digit] <= '9') value = value * 16 + at[digit] - '0';
        else if (c >= 'a' && c <= 'f') value = value * 16 + c - 'a' + 10;
        else return -1;
    }
    return value;
}

static void add_character(larder_text *into, unsigned code) {
    char bytes[4];
    size_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    const unsigned char first[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t at = length; at-- > 1; code >>= 6) bytes[at] = (char)(0x80 | (code & 0x3f));
    bytes[0] = (char)(first[length] | code);
    larder_add(into, bytes, length);
}

// Decodes `\u1234`, and two of them if they are a surrogate pair. Returns the number of bytes, or 0 if it is invalid.
static size_t add_unicode(larder_text *into, const char *at, size_t length) {
    int code = length >= 6 ? hex4(at + 2) : -1;
    if (code < 0 || (code >= 0xdc00 && code < 0xe000)) return 0;
    if (code < 0xd800 || code >= 0xe000) return add_character(into, (unsigned)code), 6;
    int low = length >= 12 && at[6] == '\\' && at[7] == 'u' ? hex4(at + 8) : -1;
    if (low < 0xdc00 || low >= 0xe000) return 0;
    return add_character(into, 0x10000u + ((unsigned)(code - 0xd800) << 10) + (unsigned)(low - 0xdc00)), 12;
}

// Decodes a string, given with its quotation marks.
static bool decode_string(const char *from, size_t length, larder_text *into) {
    static const char escaped[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    larder_add(into, "", 0);
    for (size_t at = 1, size; at + 1 < length; at += size) {
        const char *found = from[at + 1] ? strchr(escaped, from[at + 1]) : NULL;
        if (from[at] != '\\') {
            larder_add(into, from + at, size = 1);
        } else if (from[at + 1] == 'u') {
            if (!(size = add_unicode(into, from + at, length - 1 - at))) return false;
        } else if (found) {
            larder_add(into, meant + (found - escaped), 1);
            size = 2;
        } else {
            return false;
        }
    }
    return true;
}

static bool has_name(const char *from, size_t length, const char *name, size_t name_length) {
    larder_text decoded = {0};
    bool same = decode_string(from, length, &decoded) && decoded.len == name_length &&
                memcmp(decoded.ptr, name, name_length) == 0;
    free(decoded.ptr);
    return same;
}

// Moves to the value of a member.
static bool enter_object(json *in, const char *name, size_t length) {
    in->at++;
    while (peek(in) == '"') {
        const char *key = in->at;
        if (!skip_string(in)) return false;
        bool found = has_name(key, (size_t)(in->at - key), name, length);
        if (peek(in) != ':') return false;
        in->at++;
        if (found) return true;
        if (!skip_value(in)) return false;
        if (peek(in) == ',') in->at++;
    }
    return false;
}

// Moves to an item.
static bool enter_array(json *in, const char *name, size_t length) {
    size_t position = 0;
    for (size_t at = 0; at < length; at++) {
        if (name[at] < '0' || name[at] > '9' || at > 8) return false;
        position = position * 10 + (size_t)(name[at] - '0');
    }
    in->at++;
    for (; position; position--) {
        if (peek(in) == ']' || !skip_value(in) || peek(in) != ',') return false;
        in->at++;
    }
    return length && peek(in) != ']';
}

bool larder_json_find(const provider_string_t *text, const char *path, provider_string_t *found) {
    json in = {(const char *)text->ptr, (const char *)text->ptr + text->len};
    while (*path) {
        size_t length = strcspn(path, ".");
        char first = peek(&in);
        if (first != '{' && first != '[') return false;
        if (!(first == '{' ? enter_object : enter_array)(&in, path, length)) return false;
        path += length + (path[length] == '.');
    }
    peek(&in);
    const char *begin = in.at;
    if (!skip_value(&in)) return false;
    *found = (provider_string_t){(uint8_t *)begin, (size_t)(in.at - begin)};
    return found->len > 0;
}

bool larder_json_text(const provider_string_t *text, const char *path, larder_text *into) {
    provider_string_t found;
    if (!larder_json_find(text, path, &found) || found.ptr[0] != '"') return false;
    return decode_string((const char *)found.ptr, found.len, into);
}

bool larder_json_number(const provider_string_t *text, const char *path, double *number) {
    provider_string_t found;
    if (!larder_json_find(text, path, &found) || !(found.ptr[0] == '-' || (found.ptr[0] >= '0' && found.ptr[0] <= '9')))
        return false;
    larder_text copy = {0};
    char *end;
    larder_add(&copy, found.ptr, found.len);
    *number = strtod(copy.ptr, &end);
    bool complete = *end == 0;
    free(copy.ptr);
    return complete;
}

bool larder_json_boolean(const provider_string_t *text, const char *path, bool *value) {
    provider_string_t found;
    if (!larder_json_find(text, path, &found)) return false;
    *value = larder_equal(&found, "true");
    return *value || larder_equal(&found, "false");
}
