#include <signal.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iostream>

#include "server/commands.hpp"
#include "server/render.hpp"
#include "server/signals.hpp"
#include "server/source.hpp"

namespace litefeed::server {
namespace {

constexpr std::chrono::milliseconds poll_every{5}, pause_when_busy{50};

/// Writes all of it; false when nobody reads any more.
bool write_out(std::string_view text) {
    while (!text.empty()) {
        const auto n = ::write(STDOUT_FILENO, text.data(), text.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EPIPE) return false;
        if (n < 0) throw cannot(std::string("cannot write: ") + std::strerror(errno));
        text.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
}

}  // namespace

int run_tail(const std::string& database, question ask) {
    const stop_signals signals;
    ::signal(SIGPIPE, SIG_IGN);
    source from(database, {.read_only = true, .serving = true});
    if (from.ready() == nullptr) spdlog::warn("{}; waiting until that is over", from.trouble());
    const auto tables = from.call([](feed& f) { return f.tables(); });
    if (tables && tables->tables.empty())
        spdlog::warn("nothing is watched in {}: litefeed watch {} TABLE", database, database);
    bool ask_now = true;
    for (;;) {
        if (!ask_now) {
            const auto moved = from.call([](feed& f) { return f.moved(); });
            ask_now = !moved || *moved;
        }
        auto pause = poll_every;
        if (ask_now) {
            const auto a = from.call([&](feed& f) { return f.changes(ask); });
            if (!a && a.error() == errc::unknown_table) {
                const auto name = from.call([&](feed& f) { return f.unknown(ask.want); });
                throw cannot((name && *name ? **name : std::string("a table")) +
                             " is no table that this file's log knows; `litefeed status` lists "
                             "what is watched");
            }
            if (!a && a.error() == errc::malformed_cursor) throw cannot("--since is no cursor");
            if (a) {
                std::string lines;
                if (!a->changes.changes.empty() || a->reset)
                    append_answer_lines(lines, *a, a->cursor());
                if (!write_out(lines)) return 0;
                ask.from = a->next;
                ask_now = a->more;
                if (a->more) pause = std::chrono::milliseconds(0);
            } else {
                pause = pause_when_busy;
            }
        }
        if (signals.wait_for(pause)) return 0;
    }
}

}  // namespace litefeed::server
