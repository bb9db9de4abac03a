#include "server/serve.hpp"

#include <signal.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "server/server.hpp"
#include "server/signals.hpp"

namespace litefeed::server {
namespace {

void tell(const watch_report& report, bool all) {
    for (const auto& t : report.watched) spdlog::info("watches {}", t);
    for (const auto& t : report.repaired) spdlog::warn("watches {} again, in a new generation", t);
    if (all)
        for (const auto& t : report.kept) spdlog::info("watches {} already", t);
    for (const auto& [t, why] : report.refused) spdlog::warn("skips {}: {}", t, why);
    for (const auto& [t, what] : report.warnings) spdlog::warn("{}: {}", t, what);
}

std::optional<keeper> open_writer(const serve_options& want) {
    const bool must = !want.watch.empty() || want.watch_all;
    if (want.server.read_only) {
        if (must) throw cannot("--read-only cannot watch; leave out --watch and --watch-all");
        return std::nullopt;
    }
    try {
        auto writer = keeper::open(want.server.database, true);
        if (want.watch_all) {
            const auto plan = writer.plan_all();
            for (const auto& t : plan.watched) spdlog::info("will publish {}", t);
            tell(writer.watch_all(want.watching), true);
        }
        if (!want.watch.empty()) tell(writer.watch(want.watch, want.watching), true);
        return writer;
    } catch (const cannot& why) {
        if (must) throw;
        spdlog::warn("{}; serving without writing, as with --read-only", why.what());
        return std::nullopt;
    }
}

const table_status& find_table(const std::vector<table_status>& tables, const std::string& name,
                               const std::string& option) {
    for (const auto& t : tables)
        if (t.name == name) return t;
    throw cannot(option + ": " + name + " is not watched; `litefeed status` lists what is");
}

void check_column(const table_status& t, const std::string& column, const std::string& option) {
    const auto same = [&](const auto& c) { return c.first == column; };
    if (std::none_of(t.columns.begin(), t.columns.end(), same))
        throw cannot(option + ": " + t.name + " has no column " + column);
}

}  // namespace

column_rules read_column_rules(const std::vector<std::string>& hide,
                               const std::vector<std::string>& only,
                               const std::vector<table_status>& tables) {
    column_rules out;
    for (const auto& text : hide) {
        const auto option = "--hide " + text;
        // Both sides may hold dots: the first split that names a watched table counts.
        std::size_t dot = text.find('.');
        while (dot != std::string::npos &&
               std::none_of(tables.begin(), tables.end(),
                            [&](const auto& t) { return t.name == text.substr(0, dot); }) &&
               text.find('.', dot + 1) != std::string::npos)
            dot = text.find('.', dot + 1);
        if (dot == std::string::npos) throw cannot(option + ": write TABLE.COLUMN");
        const auto& t = find_table(tables, text.substr(0, dot), option);
        auto column = text.substr(dot + 1);
        check_column(t, column, option);
        if (std::find(t.key.begin(), t.key.end(), column) != t.key.end())
            throw cannot(option + ": a key column names the row and cannot be hidden");
        out.hide[t.name].push_back(std::move(column));
    }
    for (const auto& text : only) {
        const auto option = "--only " + text;
        const auto colon = text.rfind(':');
        if (colon == std::string::npos) throw cannot(option + ": write TABLE:COLUMN,COLUMN");
        const auto& t = find_table(tables, text.substr(0, colon), option);
        for (std::size_t from = colon + 1;;) {
            const auto comma = text.find(',', from);
            auto column = text.substr(from, comma == std::string::npos ? comma : comma - from);
            check_column(t, column, option);
            out.only[t.name].push_back(std::move(column));
            if (comma == std::string::npos) break;
            from = comma + 1;
        }
    }
    return out;
}

int run_serve(serve_options want) {
    const stop_signals signals;
    std::unique_ptr<token_file> tokens;
    if (const auto& path = want.server.token_file; !path.empty())
        tokens = std::make_unique<token_file>(path);
    {
        // Whether the file can be read at all is said before anything is written or bound.
        auto first = feed::open(want.server.database, {.read_only = true});
    }
    auto writer = open_writer(want);
    {
        auto first = feed::open(want.server.database,
                                {.read_only = true, .busy_timeout = std::chrono::seconds(5)});
        const auto tables = first.tables();
        if (tables) {
            want.server.columns = read_column_rules(want.hide, want.only, *tables);
            if (tables->empty())
                spdlog::warn("nothing is watched in {}: litefeed watch {} TABLE",
                             want.server.database, want.server.database);
            for (const auto& t : *tables) spdlog::info("publishes {}", t.name);
        } else if (tables.error() == errc::not_watched) {
            spdlog::warn("nothing is watched in {}: litefeed watch {} TABLE", want.server.database,
                         want.server.database);
            if (!want.hide.empty() || !want.only.empty())
                want.server.columns = read_column_rules(want.hide, want.only, {});
        } else {
            throw cannot("cannot read " + want.server.database + ": " + tables.error().message());
        }
    }
    auto sockets = open_listeners(want.server.listen, want.server.threads,
                                  want.server.insecure || tokens != nullptr);
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
