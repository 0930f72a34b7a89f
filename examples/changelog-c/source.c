// Implementation of source.h.
#include "source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "larder_settings.h"
#include "sample.h"

// The guest path of the granted folder: `dirs = [{ host = "docs", guest = "/changelog" }]`.
#define FOLDER "/changelog"

// The setting that names the file. The host checks the configuration with this declaration.
static const larder_declared FILE_NAME = {
    .name = "file",
    .kind = LARDER_TEXT_SETTING,
    .description = "Name of the file in the folder that is granted as `/changelog`.",
    .default_value = "CHANGELOG.md",
};

void larder_settings(larder_declarations *declarations) { larder_declare(declarations, &FILE_NAME); }

const release *find(const release_list *all, const void *version, size_t length) {
    for (size_t at = 0; at < all->len; at++) {
        slice has = all->ptr[at].version;
        if (has.len == length && memcmp(has.ptr, version, length) == 0) return &all->ptr[at];
    }
    return NULL;
}

// Converts Windows line endings.
static void without_returns(larder_text *text) {
    size_t kept = 0;
    for (size_t at = 0; at < text->len; at++)
        if (text->ptr[at] != '\r' || text->ptr[at + 1] != '\n') text->ptr[kept++] = text->ptr[at];
    text->len = kept;
    text->ptr[kept] = 0;
}

bool load(larder_text *text, larder_error *error) {
    struct stat granted;
    if (stat(FOLDER, &granted) != 0) {
        larder_log(LARDER_INFO, "%s is not granted: showing the sample", FOLDER);
        larder_add(text, SAMPLE, strlen(SAMPLE));
        return true;
    }
    larder_text path = {0};
    char *file;
    if (!larder_text_setting(&FILE_NAME, &file, error)) return false;
    larder_addf(&path, FOLDER "/%s", file);
    free(file);
    bool good = larder_read_file(path.ptr, text);
    if (!good) larder_fail(error, LARDER_FAILED, "cannot read %s: %s", path.ptr, strerror(errno));
    else if (!(good = larder_is_utf8(text->ptr, text->len)))
        larder_fail(error, LARDER_FAILED, "%s is not UTF-8", path.ptr);
    free(path.ptr);
    if (good) without_returns(text);
    return good;
}
