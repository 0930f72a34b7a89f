// What the parts of the provider share: the file with the releases.
#include "changelog.h"
#include "larder.h"

#define RELEASES "changelog://releases/"

// Loads the file in the granted folder, or the sample if no folder is granted. Other problems are returned as errors.
bool load(larder_text *text, larder_error *error);

// Returns the release with this version, or NULL.
const release *find(const release_list *all, const void *version, size_t length);

// Suggests versions that begin with a prefix.
bool complete_version(const provider_string_t *prefix, larder_completion *completion, larder_error *error);
