// Provides the releases of a changelog (keepachangelog.com) as resources. The same provider exists in seven languages.
#include <stdlib.h>
#include <string.h>

#include "source.h"

// The maximum number of values in a completion, as specified by MCP.
#define SUGGESTIONS 100

#define RELEASE "changelog://releases/{version}"
#define AS_JSON "changelog://releases/{version}/json"

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

static bool answer(const larder_request *request, const release *found, larder_reading *reading, larder_error *error) {
    if (!found) return larder_fail(error, LARDER_NOT_FOUND, "no such release");
    if (larder_known(request, found->digest)) return larder_fail(error, LARDER_NOT_MODIFIED, "not modified");
    larder_text text = {0};
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
bool larder_complete(larder_completion_request *request, larder_completion *completion, larder_error *error) {
    if (!larder_equal(&request->variable, "version")) return larder_fail(error, LARDER_NOT_FOUND, "no such variable");
    bool done = complete_version(&request->prefix, completion, error);
    exports_larder_provider_completion_provider_completion_request_free(request);
    return done;
}

bool complete_version(const provider_string_t *prefix, larder_completion *completion, larder_error *error) {
    larder_text text = {0};
    if (!load(&text, error)) return false;
    release_list all = releases(text.ptr, text.len);
    completion->total.is_some = true;
    completion->values.ptr = larder_new(all.len, sizeof(provider_string_t));
    for (size_t at = 0; at < all.len; at++) {
        slice version = all.ptr[at].version;
        bool begins = version.len >= prefix->len && !memcmp(version.ptr, prefix->ptr, prefix->len);
        if (!begins) continue;
        // The number of values is limited, but the total counts all.
        if (completion->total.val++ == SUGGESTIONS) completion->more = true;
        if (!completion->more) completion->values.ptr[completion->values.len++] = larder_bytes(version.ptr, version.len);
    }
    free(all.ptr);
    free(text.ptr);
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

static bool line_contains(slice line, const provider_string_t *text) {
    for (size_t at = 0; at + text->len <= line.len; at++)
        if (equal_without_case(line.ptr + at, (const char *)text->ptr, text->len)) return true;
    return false;
}

// Searches in the texts of the releases.
bool larder_search(larder_search_query *query, larder_hits *found, larder_error *error) {
    larder_text text = {0};
    if (!load(&text, error)) return false;
    release_list all = releases(text.ptr, text.len);
    found->hits.ptr = larder_new(all.len, sizeof(larder_hit));
    for (size_t at = 0; at < all.len && found->hits.len < query->limit; at++) {
        slice rest = all.ptr[at].text, line;
        while (next_line(&rest, &line)) {
            if (!line_contains(line, &query->text)) continue;
            line = trimmed(line);
            larder_hit *hit = &found->hits.ptr[found->hits.len++];
            hit->entry = entry(&all.ptr[at]);
            hit->excerpt = (provider_option_string_t){true, larder_bytes(line.ptr, line.len)};
            break;
        }
    }
    free(all.ptr);
    free(text.ptr);
    exports_larder_provider_search_provider_search_query_free(query);
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
    change_list all = changes(of);
    larder_addf(json, "{\"version\":\"%.*s\",\"date\":", (int)of->version.len, of->version.ptr);
    if (of->date.len) larder_addf(json, "\"%.*s\",\"changes\":[", (int)of->date.len, of->date.ptr);
    else larder_addf(json, "null,\"changes\":[");
    for (size_t at = 0; at < all.len; at++) {
        change *one = &all.ptr[at];
        // A kind without items has one change without an item.
        bool first = at == 0 || one->begins_kind;
        if (first) {
            larder_addf(json, at ? "]},{\"kind\":" : "{\"kind\":");
            larder_add_json(json, one->kind.ptr, one->kind.len);
            larder_addf(json, ",\"items\":[");
        }
        if (one->item) {
            larder_addf(json, first ? "" : ",");
            larder_add_json(json, one->item, strlen(one->item));
        }
    }
    larder_addf(json, all.len ? "]}]}" : "]}");
    free_changes(&all);
}
