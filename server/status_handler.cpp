#include <nlohmann/json.hpp>

#include "server/handlers.hpp"
#include "server/status_json.hpp"
#include "server/version.hpp"

namespace litefeed::server {
namespace {

using read_status = std::function<result<feed_status>(feed&, std::int64_t)>;
using json = nlohmann::ordered_json;

std::string loops_json(const shared_parts& shared) {
    json loops = json::array();
    for (const auto* s : shared.stats)
        loops.push_back({{"connections", s->connections.load()},
                         {"subscribers", s->subscribers.load()},
                         {"waiters", s->waiters.load()},
                         {"requests", s->requests.load()},
                         {"frames", s->frames.load()},
                         {"slow_closed", s->slow_closed.load()}});
    return loops.dump();
}

response json_response(int status, std::string body) {
    response out;
    out.status = status;
    out.content_type = "application/json";
    out.body = std::move(body);
    out.field("Cache-Control", "no-store");
    return out;
}

task<result<feed_status>> ask_status(loop* of) {
    read_status ask = [](feed& f, std::int64_t) { return f.status(); };
    result<feed_status> got = co_await of->reading().ask<feed_status>(ask);
    co_return got;
}

}  // namespace

task<response> answer_status(loop* of, const request*, target at) {
    auto known = parameters::check(std::move(at.query), {});
    if (!known) co_return to_response(known.error());
    result<feed_status> got = co_await ask_status(of);
    if (!got) {
        const problem why = to_problem(got.error(), *of);
        co_return to_response(why);
    }
    const auto up = std::chrono::duration_cast<std::chrono::seconds>(
        std::chrono::system_clock::now() - of->shared().started);
    co_return json_response(200, "{\"version\":\"" + std::string(version) + "\",\"uptime_s\":" +
                                     std::to_string(up.count()) + "," + feed_members(*got) +
                                     ",\"loops\":" + loops_json(of->shared()) + "}\n");
}

task<response> answer_ready(loop* of, const request*, target at) {
    auto known = parameters::check(std::move(at.query), {});
    if (!known) co_return to_response(known.error());
    result<feed_status> got = co_await ask_status(of);
    json reasons = json::array();
    if (got)
        for (const auto& text : got->problems) reasons.push_back(text);
    else
        reasons.push_back(to_problem(got.error(), *of).detail);
    const auto* writer = of->shared().writer;
    if (got && writer != nullptr && !writer->trouble().empty())
        reasons.push_back(writer->trouble());
    const bool ready = reasons.empty();
    json body{{"ready", ready}, {"reasons", std::move(reasons)}};
    response out = json_response(ready ? 200 : 503,
                                 body.dump(-1, ' ', false, json::error_handler_t::replace) + "\n");
    if (!ready) out.field("Retry-After", "5");
    co_return out;
}

}  // namespace litefeed::server
