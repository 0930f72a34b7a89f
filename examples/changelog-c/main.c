// Provides the releases of a changelog (keepachangelog.com) as resources. The same provider exists in five languages.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "changelog.h"
#include "larder.h"
#include "sample.h"

// The guest path of the granted folder: `dirs = [{ host = "docs", guest = "/changelog" }]`.
#define FOLDER "/changelog"
// The maximum number of values in a completion, as specified by MCP.
#define SUGGESTIONS 100

#define RELEASES "changelog://releases/"
#define RELEASE "changelog://releases/{version}"
#define AS_JSON "changelog://releases/{version}/json"

static bool load(larder_text *text, larder_error *error);
static larder_entry entry(const release *of);
static void as_json(const release *of, larder_text *json);

// Describes the provider for people and for the model.
void larder_describe(larder_description *about) {
    *about = (larder_description){
        .title = larder_some("Changelog"),
        .version = larder_some("0.1.0"),
        .summary = larder_some("the releases of a changelog"),
        .instructions = larder_some("Read a release before you say what it changed."),
    };
}

static int by_version(const void *a, const void *b) {
    slice x = ((const release *)a)->version, y = ((const release *)b)->version;
    int order = memcmp(x.ptr, y.ptr, x.len < y.len ? x.len : y.len);
    return order ? order : (x.len > y.len) - (x.len < y.len);
}

// Lists the releases, sorted by URI. With a version, the host detects changes without a read. All
// entries are on one page, since a changelog has few releases.
bool larder_list(larder_query *query, larder_entry_page *page, larder_error *error) {
    exports_larder_provider_resource_provider_list_query_free(query);
    larder_text text = {0};
    if (!load(&text, error)) return false;
    release_list found = releases(text.ptr, text.len);
    if (found.len) qsort(found.ptr, found.len, sizeof *found.ptr, by_version);
    *page = (larder_entry_page){.entries = {larder_new(found.len, sizeof(larder_entry)), found.len}};
    for (size_t at = 0; at < found.len; at++) page->entries.ptr[at] = entry(&found.ptr[at]);
    free(found.ptr);
    free(text.ptr);
    return true;
}

// Lists the templates. The host matches URIs with them and passes on the variables.
bool larder_templates(provider_string_t *cursor, larder_template_page *page, larder_error *error) {
    (void)cursor, (void)error;
    *page = (larder_template_page){.templates = {larder_new(2, sizeof(larder_template)), 2}};
    page->templates.ptr[0] = (larder_template){
        .uri_template = larder_string(RELEASE),
        .name = larder_string("release"),
        .title = larder_some("A release"),
        .mime_type = larder_some("text/markdown"),
    };
    page->templates.ptr[1] = (larder_template){
        .uri_template = larder_string(AS_JSON),
        .name = larder_string("release-json"),
        .title = larder_some("A release as JSON"),
        .mime_type = larder_some("application/json"),
    };
    return true;
}

// All URIs match a template, so this is never needed.
bool larder_match_uri(provider_string_t *uri, larder_match *match) {
    (void)match;
    provider_string_free(uri);
    return false;
}

static const release *find(const release_list *all, const void *version, size_t length) {
    for (size_t at = 0; at < all->len; at++) {
        slice has = all->ptr[at].version;
        if (has.len == length && memcmp(has.ptr, version, length) == 0) return &all->ptr[at];
    }
    return NULL;
}

static bool answer(const larder_request *request, const release *found, larder_reading *reading, larder_error *error) {
    if (!found) return larder_fail(error, LARDER_NOT_FOUND, "no such release");
    if (larder_known(request, found->digest)) return larder_fail(error, LARDER_NOT_MODIFIED, "not modified");
    larder_text text = {0};
    *reading = (larder_reading){0};
    bool json = larder_equal(&request->matched.val.uri_template, AS_JSON);
    if (json) {
        as_json(found, &text);
    } else {
        larder_add(&text, found->text.ptr, found->text.len);
        larder_add(&text, "\n", 1);
    }
    larder_answer_text(reading, text.ptr, text.len, json ? "application/json" : "text/markdown", found->digest);
    free(text.ptr);
    return true;
}

// Reads a release. After a "not found" error, the host tries other providers.
bool larder_read(larder_request *request, larder_reading *reading, larder_error *error) {
    larder_text text = {0};
    bool done = load(&text, error);
    if (done) {
        release_list all = releases(text.ptr, text.len);
        const provider_string_t *version = larder_variable(request, "version");
        const release *found = version ? find(&all, version->ptr, version->len) : NULL;
        done = answer(request, found, reading, error);
        free(all.ptr);
    }
    free(text.ptr);
    exports_larder_provider_resource_provider_read_request_free(request);
    return done;
}

// Suggests values for the variables of the templates.
bool larder_complete(exports_larder_provider_completion_provider_completion_request_t *request,
                     exports_larder_provider_completion_provider_completion_t *completion, larder_error *error) {
    larder_text text = {0};
    if (!larder_equal(&request->variable, "version")) return larder_fail(error, LARDER_NOT_FOUND, "no such variable");
    if (!load(&text, error)) return false;
    release_list all = releases(text.ptr, text.len);
    *completion = (exports_larder_provider_completion_provider_completion_t){.total = {.is_some = true}};
    completion->values.ptr = larder_new(all.len, sizeof(provider_string_t));
    for (size_t at = 0; at < all.len; at++) {
        slice version = all.ptr[at].version;
        bool begins = version.len >= request->prefix.len && !memcmp(version.ptr, request->prefix.ptr, request->prefix.len);
        if (!begins) continue;
        // The number of values is limited, but the total counts all.
        if (completion->total.val++ == SUGGESTIONS) completion->more = true;
        if (!completion->more) completion->values.ptr[completion->values.len++] = larder_bytes(version.ptr, version.len);
    }
    free(all.ptr);
    free(text.ptr);
    exports_larder_provider_completion_provider_completion_request_free(request);
    return true;
}

static const char *digest_of(const release_list *all, const provider_string_t *uri) {
    const size_t before = strlen(RELEASES), behind = strlen("/json");
    if (uri->len < before || memcmp(uri->ptr, RELEASES, before) != 0) return NULL;
    const uint8_t *version = uri->ptr + before;
    size_t length = uri->len - before;
    if (length > behind && !memcmp(version + length - behind, "/json", behind)) length -= behind;
    const release *found = find(all, version, length);
    return found ? found->digest : NULL;
}

// Returns the current versions of resources with subscribers. Optional, but cheaper than reading them.
bool larder_versions(provider_list_string_t *uris, provider_list_option_string_t *versions, larder_error *error) {
    larder_text text = {0};
    if (!load(&text, error)) return false;
    release_list all = releases(text.ptr, text.len);
    versions->ptr = larder_new(uris->len, sizeof *versions->ptr);
    versions->len = uris->len;
    for (size_t at = 0; at < uris->len; at++) versions->ptr[at] = larder_some(digest_of(&all, &uris->ptr[at]));
    free(all.ptr);
    free(text.ptr);
    provider_list_string_free(uris);
    return true;
}

static larder_entry entry(const release *of) {
    larder_text uri = {0}, title = {0}, modified = {0};
    int length = (int)of->version.len;
    larder_addf(&uri, RELEASES "%.*s", length, of->version.ptr);
    larder_addf(&title, "Release %.*s", length, of->version.ptr);
    if (of->date.len) larder_addf(&modified, "%.*sT00:00:00Z", (int)of->date.len, of->date.ptr);
    larder_entry made = {
        .uri = larder_string(uri.ptr),
        .name = larder_bytes(of->version.ptr, of->version.len),
        .title = larder_some(title.ptr),
        .mime_type = larder_some("text/markdown"),
        .size = {true, of->text.len + 1},
        .version = larder_some(of->digest),
        .details = {true, {.kind = larder_some("release"), .last_modified = larder_some(modified.ptr)}},
    };
    free(uri.ptr);
    free(title.ptr);
    free(modified.ptr);
    return made;
}

// Formats version, date and the list below each `### ` line as JSON.
static void as_json(const release *of, larder_text *json) {
    larder_text item = {0};
    slice rest = of->text, line = {0}, found = {0};
    int kinds = 0, items = 0;
    larder_addf(json, "{\"version\":\"%.*s\",\"date\":", (int)of->version.len, of->version.ptr);
    if (of->date.len) larder_addf(json, "\"%.*s\",\"changes\":[", (int)of->date.len, of->date.ptr);
    else larder_addf(json, "null,\"changes\":[");
    // An item is written when the next line shows that it is complete.
    for (bool more = true; more;) {
        more = next_line(&rest, &line);
        bool kind = more && after(line, "### ", &found);
        bool begins = more && !kind && kinds && after(line, "- ", &found);
        if (item.len && (!more || kind || begins)) {
            larder_addf(json, items++ ? "," : "");
            larder_add_json(json, item.ptr, item.len);
            item.len = 0;
        }
        found = trimmed(found);
        if (kind) {
            larder_addf(json, "%s{\"kind\":", kinds++ ? "]}," : "");
            larder_add_json(json, found.ptr, found.len);
            larder_addf(json, ",\"items\":[");
            items = 0;
        } else if (begins) {
            larder_add(&item, found.ptr, found.len);
        } else if (more && item.len && after(line, "  ", &found)) {
            // An indented line continues the item above.
            found = trimmed(found);
            larder_add(&item, " ", 1);
            larder_add(&item, found.ptr, found.len);
        }
    }
    larder_addf(json, "%s]}", kinds ? "]}" : "");
    free(item.ptr);
}

// Converts Windows line endings.
static void without_returns(larder_text *text) {
    size_t kept = 0;
    for (size_t at = 0; at < text->len; at++)
        if (text->ptr[at] != '\r' || text->ptr[at + 1] != '\n') text->ptr[kept++] = text->ptr[at];
    text->len = kept;
    text->ptr[kept] = 0;
}

// Loads the file in the granted folder, or the sample if no folder is granted. Other problems are returned as errors.
static bool load(larder_text *text, larder_error *error) {
    struct stat granted;
    if (stat(FOLDER, &granted) != 0) {
        larder_log(LARDER_INFO, "%s is not granted: showing the sample", FOLDER);
        larder_add(text, SAMPLE, strlen(SAMPLE));
        return true;
    }
    larder_text path = {0};
    char *file = larder_setting("file", "CHANGELOG.md");
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
