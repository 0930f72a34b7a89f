// Implementation of changelog.h.
#include "changelog.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool next_line(slice *rest, slice *line) {
    if (rest->len == 0) return false;
    const char *end = memchr(rest->ptr, '\n', rest->len);
    size_t length = end ? (size_t)(end - rest->ptr) : rest->len;
    *line = (slice){rest->ptr, length};
    rest->ptr += end ? length + 1 : length;
    rest->len -= end ? length + 1 : length;
    return true;
}

bool after(slice line, const char *beginning, slice *rest) {
    size_t length = strlen(beginning);
    if (line.len < length || memcmp(line.ptr, beginning, length) != 0) return false;
    *rest = (slice){line.ptr + length, line.len - length};
    return true;
}

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

slice trimmed(slice text) {
    while (text.len && is_space(text.ptr[0])) text.ptr++, text.len--;
    while (text.len && is_space(text.ptr[text.len - 1])) text.len--;
    return text;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool fits(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c && strchr("-._~", c));
}

// Parses `2026-05-12`, followed by a space or nothing.
static slice date_in(slice text) {
    while (text.len && (text.ptr[0] == ' ' || text.ptr[0] == '-')) text.ptr++, text.len--;
    if (text.len < 10 || (text.len > 10 && text.ptr[10] != ' ')) return (slice){0};
    for (size_t at = 0; at < 10; at++)
        if (at == 4 || at == 7 ? text.ptr[at] != '-' : !is_digit(text.ptr[at])) return (slice){0};
    return (slice){text.ptr, 10};
}

// Matches `[1.0.0] - 2026-05-12` or `1.0.0`. The version must not need percent-encoding in a URI.
static bool titled(slice title, release *found) {
    title = trimmed(title);
    bool bracketed = title.len && title.ptr[0] == '[';
    const char *begin = title.ptr + bracketed, *end = begin, *last = title.ptr + title.len;
    while (end < last && fits(*end)) end++;
    bool ended = bracketed ? end < last && *end == ']' : end == last || *end == ' ';
    if (!ended || end == begin) return false;
    *found = (release){.version = {begin, (size_t)(end - begin)}};
    end += bracketed;
    found->date = date_in((slice){end, (size_t)(last - end)});
    return true;
}

static bool is_link(slice line) {
    for (size_t at = 0; line.len && line.ptr[0] == '[' && at + 2 < line.len; at++)
        if (memcmp(line.ptr + at, "]: ", 3) == 0) return true;
    return false;
}

static bool is_new(const release_list *all, slice version) {
    for (size_t at = 0; at < all->len; at++) {
        slice old = all->ptr[at].version;
        if (old.len == version.len && memcmp(old.ptr, version.ptr, old.len) == 0) return false;
    }
    return true;
}

// A hash of the text (32-bit FNV-1a, which is short to implement in every language).
static void digest(release *of) {
    uint32_t hash = 0x811c9dc5;
    for (size_t at = 0; at < of->text.len; at++) hash = (hash ^ (unsigned char)of->text.ptr[at]) * 0x01000193;
    // The final newline, which is not part of the slice.
    hash = (hash ^ '\n') * 0x01000193;
    snprintf(of->digest, sizeof of->digest, "%08x", (unsigned)hash);
}

release_list releases(const char *text, size_t length) {
    release_list all = {0};
    release *inside = NULL;
    slice rest = {text, length}, line, title;
    while (next_line(&rest, &line)) {
        release found;
        if (after(line, "## ", &title)) {
            inside = NULL;
            if (titled(title, &found) && is_new(&all, found.version)) {
                all.ptr = realloc(all.ptr, (all.len + 1) * sizeof *all.ptr);
                if (!all.ptr) abort();
                inside = &all.ptr[all.len++];
                *inside = found;
                inside->text.ptr = line.ptr;
            }
        } else if (is_link(line)) {
            // Link definitions are not part of a release.
            inside = NULL;
        }
        if (inside) inside->text.len = (size_t)(line.ptr + line.len - inside->text.ptr);
    }
    for (size_t at = 0; at < all.len; at++) {
        all.ptr[at].text = trimmed(all.ptr[at].text);
        digest(&all.ptr[at]);
    }
    return all;
}

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c; }

bool equal_without_case(const char *a, const char *b, size_t length) {
    for (size_t at = 0; at < length; at++)
        if (lower(a[at]) != lower(b[at])) return false;
    return true;
}

static change *add_change(change_list *all, slice kind, bool begins_kind) {
    all->ptr = realloc(all->ptr, (all->len + 1) * sizeof *all->ptr);
    if (!all->ptr) abort();
    all->ptr[all->len] = (change){kind, begins_kind, NULL};
    return &all->ptr[all->len++];
}

// Appends a line to the item, after a space if it is not the first one.
static void extend_item(change *of, slice line) {
    size_t length = of->item ? strlen(of->item) + 1 : 0;
    of->item = realloc(of->item, length + line.len + 1);
    if (!of->item) abort();
    if (length) of->item[length - 1] = ' ';
    if (line.len) memcpy(of->item + length, line.ptr, line.len);
    of->item[length + line.len] = 0;
}

change_list changes(const release *of) {
    change_list all = {0};
    slice rest = of->text, line, found;
    while (next_line(&rest, &line)) {
        change *last = all.len ? &all.ptr[all.len - 1] : NULL;
        if (after(line, "### ", &found)) {
            add_change(&all, trimmed(found), true);
        } else if (last && after(line, "- ", &found)) {
            extend_item(last->item ? add_change(&all, last->kind, false) : last, trimmed(found));
        } else if (last && last->item && after(line, "  ", &found)) {
            // An indented line continues the item above.
            extend_item(last, trimmed(found));
        }
    }
    return all;
}

void free_changes(change_list *all) {
    for (size_t at = 0; at < all->len; at++) free(all->ptr[at].item);
    free(all->ptr);
}
