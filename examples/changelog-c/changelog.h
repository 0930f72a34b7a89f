// Parses a changelog. This file does not depend on Larder.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// A part of the text; not a copy.
typedef struct {
    const char *ptr;
    size_t len;
} slice;

typedef struct {
    slice version;
    // Empty if there is none.
    slice date;
    // Without trailing white space.
    slice text;
    char digest[9];
} release;

typedef struct {
    release *ptr;
    size_t len;
} release_list;

// Returns the releases in the order of the text. Each release extends from its `## ` line to the next one. The caller frees `ptr`.
release_list releases(const char *text, size_t length);

// Splits off the next line of a text, without its newline. Returns false at the end.
bool next_line(slice *rest, slice *line);

// Strips a prefix from a line. Returns false if the line has a different prefix.
bool after(slice line, const char *beginning, slice *rest);

slice trimmed(slice text);

// Whether texts of the same length are equal, apart from the case of ASCII letters.
bool equal_without_case(const char *a, const char *b, size_t length);

// An item below a `### ` line. A `### ` line without items has one change without an item.
typedef struct {
    slice kind;
    bool begins_kind;
    // On one line.
    char *item;
} change;

typedef struct {
    change *ptr;
    size_t len;
} change_list;

// Returns the changes of a release. The caller frees them with `free_changes`.
change_list changes(const release *of);
void free_changes(change_list *all);
