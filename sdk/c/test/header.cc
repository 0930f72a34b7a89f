// The headers compile as C++, and a provider can be written in it.
#include "larder.h"
#include "larder_interactive.h"
#include "larder_settings.h"

void larder_describe(larder_description *about) { about->title = larder_some("C++"); }

bool larder_read(larder_request *request, larder_reading *reading, larder_error *error) {
    const provider_string_t *name = larder_variable(request, "name");
    if (!name) return larder_fail(error, LARDER_NOT_FOUND, "nobody");
    larder_text text = {};
    larder_addf(&text, "Hello, %.*s", (int)name->len, (const char *)name->ptr);
    larder_answer_text(reading, text.ptr, text.len, "text/plain", nullptr);
    return true;
}

#ifdef LARDER_WITH_TOOLS
bool larder_call_tool(larder_tool_call *, larder_tool_answer *answer, larder_error *) {
    return larder_tool_error(answer, "%d", 1);
}
#endif

#ifdef LARDER_WITH_SETTINGS
void larder_settings(larder_declarations *declarations) {
    larder_declared setting = {};
    setting.name = "name";
    larder_declare(declarations, &setting);
}
#endif
