#include "server/serve.hpp"

#include <signal.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <optional>

#include "core/file_system.hpp"
#include "server/server.hpp"
#include "server/signals.hpp"

namespace litefeed::server {
namespace {

void warn_of_network(const std::string& database) {
    const auto name = network_file_system_of(database);
    if (name.empty()) return;
    spdlog::warn(
        "{} is on {}: SQLite's WAL mode does not work between machines, and its locks may not; "
        "run litefeed on the machine whose program writes it",
        database, name);
}

/// The writer, with what --watch names watched, or to be watched when the file lets it (`later`: not now). None: nothing
/// is written.
std::unique_ptr<keeper_thread> open_writer(const serve_options& want, bool later) {
    const auto& database = want.server.database;
    const keeper_orders orders{.path = database,
                               .wish = {want.watch, want.watch_all, want.watching, want.keeping},
                               .names_columns = want.server.columns.empty(),
                               .compact_every = std::chrono::seconds(want.compact_every_s)};
    const watch_wish& wish = orders.wish;
    if (want.server.read_only) {
        if (!wish.empty())
            throw cannot("--read-only cannot watch; leave out --watch and --watch-all");
        return nullptr;
    }
    if (later) return std::make_unique<keeper_thread>(orders, std::nullopt, !wish.empty());
    try {
        auto writer = keeper::open(database, true);
        // Triggers of ours without their log would fail the owner's writes until somebody asked for something.
        (void)writer.repair();
        if (wish.all)
            for (const auto& t : writer.plan_all(wish.options).watched)
                spdlog::info("will publish {}", t);
        if (!wish.empty()) tell(grant(writer, wish), true);
        return std::make_unique<keeper_thread>(orders, std::move(writer), false);
    } catch (const not_now& why) {
        spdlog::warn("{}; it is tried again until it can be done", why.what());
        return std::make_unique<keeper_thread>(orders, std::nullopt, !wish.empty());
    } catch (const cannot& why) {
        if (!wish.empty()) throw;
        spdlog::warn("{}; serving without writing, as with --read-only", why.what());
        return nullptr;
    }
}

void tell_published(const serve_options& want) {
    const auto& database = want.server.database;
    auto first = feed::open(database, {.read_only = true,
                                       .serving = true,
                                       .hands_off = want.server.read_only,
                                       .busy_timeout = std::chrono::seconds(5)});
    const auto tables = first.tables();
    if (!tables && tables.error() == errc::busy)
        throw not_now("cannot read " + database + ": another program holds it locked");
    if (!tables) throw cannot("cannot read " + database + ": " + tables.error().message());
    (void)read_column_rules(want.server.columns, tables->tables);
    if (tables->tables.empty()) {
        spdlog::warn("nothing is watched in {}: litefeed watch {} TABLE", database, database);
        return;
    }
    for (const auto& t : tables->tables) spdlog::info("publishes {}", t.name);
}

}  // namespace

int run_serve(serve_options want) {
    const stop_signals signals;
    std::unique_ptr<token_file> tokens;
    if (const auto& path = want.server.token_file; !path.empty())
        tokens = std::make_unique<token_file>(path);
    warn_of_network(want.server.database);
    bool waits = false;
    // What no waiting cures is said before anything is written, a port that is taken too; what passes is waited for, and
    // requests are told so meanwhile.
    const auto now_or_later = [&](auto&& attempt) {
        if (waits) return;
        try {
            attempt();
        } catch (const not_now& why) {
            spdlog::warn("{}; waiting until that is over", why.what());
            waits = true;
        }
    };
    now_or_later([&] {
        (void)feed::open(want.server.database,
                         {.read_only = true, .serving = true, .hands_off = want.server.read_only});
    });
    auto sockets = open_listeners(want.server.listen, want.server.threads,
                                  want.server.insecure || tokens != nullptr);
    auto writer = open_writer(want, waits);
    now_or_later([&] { tell_published(want); });
    std::vector<std::string> urls;
    for (const auto& s : sockets.front()) urls.push_back(s.url());
    server running(std::move(want.server), std::move(writer), std::move(tokens),
                   std::move(sockets));
    for (const auto& url : urls) spdlog::info("listening on {}", url);
    const auto which = signals.wait();
    spdlog::info("{}: ending", which == SIGINT ? "SIGINT" : "SIGTERM");
    running.stop();
    return running.failed() ? 1 : 0;
}

}  // namespace litefeed::server
