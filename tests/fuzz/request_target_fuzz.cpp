// The target of a request and its parameters. Whatever parses is written again from its pieces and parses to the same;
// an escape never opens a segment or a parameter of its own; what is refused is told in JSON.
#include "server/target.hpp"

#include <algorithm>
#include <cassert>
#include <nlohmann/json.hpp>

#include "server/parameters.hpp"

using namespace litefeed::server;

namespace {

std::string written(const target& t) {
    if (t.asterisk) return "*";
    std::string out = t.authority ? "http://" + *t.authority : "";
    for (const auto& segment : t.path) out += '/' + percent_encode(segment);
    char before = '?';
    for (const auto& [name, value] : t.query) {
        out += before + percent_encode(name) + '=' + percent_encode(value);
        before = '&';
    }
    return out;
}

void check_target(std::string_view text, const target& t) {
    const auto again = parse_target(written(t));
    assert(again && again->path == t.path && again->query == t.query);
    assert(again->authority == t.authority && again->asterisk == t.asterisk);
    if (t.asterisk) return;

    if (t.authority) text.remove_prefix(text.find("//") + 2 + t.authority->size());
    const auto question = std::min(text.find('?'), text.size());
    const auto slashes = std::count(text.begin(), text.begin() + static_cast<long>(question), '/');
    assert(t.path.size() == static_cast<std::size_t>(std::max(slashes, 1L)));
    const auto ampersands = std::count(text.begin() + static_cast<long>(question), text.end(), '&');
    assert(t.query.size() <= static_cast<std::size_t>(ampersands) + 1);
}

void check_problem(const problem& p, problem_kind a, problem_kind b) {
    assert(p.kind == a || p.kind == b);
    const auto told = nlohmann::json::parse(to_json(p));
    assert(told.at("status") == 400 && told.contains("parameter") == p.parameter.has_value());
}

void check_parameters(const target& t) {
    const auto read = parameters::check(t.query, {"since", "table", "limit"});
    if (!read) {
        assert(read.error().parameter);
        check_problem(read.error(), problem_kind::unknown_parameter,
                      problem_kind::repeated_parameter);
        return;
    }
    for (const auto& [name, value] : t.query) {
        if (name == "table") continue;
        const auto* found = read->find(name);
        assert(name.starts_with('_') || name == "org.htmx.cache-buster" ? found == nullptr
                                                                        : *found == value);
    }
    const auto limit = read->number("limit", 1, 100'000, 7);
    if (limit)
        assert(*limit >= 1 && *limit <= 100'000);
    else
        check_problem(limit.error(), problem_kind::bad_parameter, problem_kind::bad_parameter);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    for (const bool plus_is_space : {false, true})
        assert(percent_decode(percent_encode(text), plus_is_space) == text);
    const auto read = parse_target(text);
    if (!read) {
        check_problem(read.error(), problem_kind::bad_request, problem_kind::bad_request);
        return 0;
    }
    check_target(text, *read);
    check_parameters(*read);
    return 0;
}
