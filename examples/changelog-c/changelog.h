// What a changelog says. Nothing here knows of Larder.
#include <stdbool.h>
#include <stddef.h>

// A part of the text, which is not copied.
typedef struct {
    const char *ptr;
    size_t len;
} slice;

typedef struct {
    slice version;
    // Empty where there is none.
    slice date;
    // Without the white space at its end.
    slice text;
    char digest[9];
} release;

typedef struct {
    release *ptr;
    size_t len;
} release_list;

// The releases in the order of the text: each from its `## ` line to the next. Free what `ptr` points at.
release_list releases(const char *text, size_t length);

// The next line of a text, without its end, and what follows it. False where there is none.
bool next_line(slice *rest, slice *line);

// What is left of a line after this beginning; false if it begins otherwise.
bool after(slice line, const char *beginning, slice *rest);

slice trimmed(slice text);
