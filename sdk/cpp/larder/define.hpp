// `LARDER_PROVIDER(Notes)` defines the functions of the C SDK for a provider. Write it once, after the class, outside
// of a namespace.
#pragma once

#include "exports_interactive.hpp"

#define LARDER_PROVIDER(Type) \
    /* One provider for all calls of a guest. Most guests handle one call. */ \
    static larder::Provider &larder_provider() { \
        static Type *const provider = new Type(); \
        return *provider; \
    } \
    void larder_describe(larder_description *about) { larder::exports::describe(larder_provider(), about); } \
    bool larder_list(larder_query *query, larder_entry_page *page, larder_error *error) { \
        return larder::exports::list(larder_provider(), query, page, error); \
    } \
    bool larder_templates(provider_string_t *cursor, larder_template_page *page, larder_error *error) { \
        return larder::exports::templates(larder_provider(), cursor, page, error); \
    } \
    bool larder_match_uri(provider_string_t *uri, larder_match *match) { \
        return larder::exports::match_uri(larder_provider(), uri, match); \
    } \
    bool larder_read(larder_request *request, larder_reading *reading, larder_error *error) { \
        return larder::exports::read(larder_provider(), request, reading, error); \
    } \
    LARDER_DEFINE_COMPLETIONS \
    LARDER_DEFINE_VERSIONS \
    LARDER_DEFINE_SEARCH \
    LARDER_DEFINE_TOOLS \
    LARDER_DEFINE_PROMPTS \
    LARDER_DEFINE_SETTINGS \
    static_assert(true, "for the semicolon")

#ifdef LARDER_WITH_COMPLETIONS
#define LARDER_DEFINE_COMPLETIONS \
    bool larder_complete(larder_completion_request *request, larder_completion *found, larder_error *error) { \
        return larder::exports::complete(larder_provider(), request, found, error); \
    }
#else
#define LARDER_DEFINE_COMPLETIONS
#endif

#ifdef LARDER_WITH_VERSIONS
#define LARDER_DEFINE_VERSIONS \
    bool larder_versions(provider_list_string_t *uris, provider_list_option_string_t *found, larder_error *error) { \
        return larder::exports::versions(larder_provider(), uris, found, error); \
    }
#else
#define LARDER_DEFINE_VERSIONS
#endif

#ifdef LARDER_WITH_SEARCH
#define LARDER_DEFINE_SEARCH \
    bool larder_search(larder_search_query *query, larder_hits *found, larder_error *error) { \
        return larder::exports::search(larder_provider(), query, found, error); \
    }
#else
#define LARDER_DEFINE_SEARCH
#endif

#ifdef LARDER_WITH_TOOLS
#define LARDER_DEFINE_TOOLS \
    bool larder_list_tools(provider_string_t *cursor, larder_tool_page *page, larder_error *) { \
        return larder::exports::list_tools(larder_provider(), cursor, page); \
    } \
    bool larder_call_tool(larder_tool_call *call, larder_tool_answer *answer, larder_error *error) { \
        return larder::exports::call_tool(larder_provider(), call, answer, error); \
    }
#else
#define LARDER_DEFINE_TOOLS
#endif

#ifdef LARDER_WITH_PROMPTS
#define LARDER_DEFINE_PROMPTS \
    bool larder_list_prompts(provider_string_t *cursor, larder_prompt_page *page, larder_error *) { \
        return larder::exports::list_prompts(larder_provider(), cursor, page); \
    } \
    bool larder_get_prompt(larder_prompt_request *request, larder_prompt_answer *answer, larder_error *error) { \
        return larder::exports::get_prompt(larder_provider(), request, answer, error); \
    } \
    bool larder_complete_argument(larder_argument_query *query, larder_suggestions *found, larder_error *error) { \
        return larder::exports::complete_argument(larder_provider(), query, found, error); \
    }
#else
#define LARDER_DEFINE_PROMPTS
#endif

#ifdef LARDER_WITH_SETTINGS
#define LARDER_DEFINE_SETTINGS \
    void larder_settings(larder_declarations *declarations) { \
        larder::exports::settings(larder_provider(), declarations); \
    }
#else
#define LARDER_DEFINE_SETTINGS
#endif
