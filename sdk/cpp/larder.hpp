// SDK for Larder providers in C++23: one class that derives from `larder::Provider`, and one line,
// `LARDER_PROVIDER(Notes)`, in one source file. This folder has only headers. They use the C SDK, whose `.c` files are
// compiled with the provider, and the bindings of `larder bindings c`.
//
// Memory: what a function returns are ordinary values, which are copied for the host. What it receives are views
// (`std::string_view`) of memory that is valid until the function returns.
//
// Errors: WebAssembly components have no C++ exceptions. Functions that can fail return `larder::Result<T>`, which is
// `std::expected<T, larder::Error>`: a value, or `larder::not_found()` and its siblings.
#pragma once

#include "larder/define.hpp"
#include "larder/error.hpp"
#include "larder/host.hpp"
#include "larder/http.hpp"
#include "larder/interaction.hpp"
#include "larder/json.hpp"
#include "larder/key_value.hpp"
#include "larder/page.hpp"
#include "larder/prompts.hpp"
#include "larder/provider.hpp"
#include "larder/settings.hpp"
#include "larder/tools.hpp"
#include "larder/values.hpp"
