// A provider with only `read` compiles with the bindings of any interfaces, and all headers compile in any order.
#include "larder/tools.hpp"
#include "larder/http.hpp"
#include "larder.hpp"

class Least : public larder::Provider {
    larder::Result<larder::Reading> read(const larder::Request &request) override {
        const auto page = larder::http::get(std::string(request.uri)).and_then(larder::http::accepted);
        if (!page) return std::unexpected(page.error());
        return larder::Reading{{{.body = page->body}}};
    }
};

LARDER_PROVIDER(Least);
