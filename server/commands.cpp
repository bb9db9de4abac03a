#include "server/commands.hpp"

#include <chrono>
#include <cstdio>
#include <iostream>
#include <thread>
#include <utility>

#include "server/printable.hpp"
#include "server/render.hpp"
#include "server/status_json.hpp"
#include "server/version.hpp"

namespace litefeed::server {
namespace {

// A command may wait for a writer to finish; a server's loop may not.
constexpr std::chrono::milliseconds patience{5000};

void print(const watch_report& report) {
    for (const auto& t : report.watched) std::cout << "watches " << printable(t) << "\n";
    for (const auto& t : report.kept) std::cout << "watches " << printable(t) << " already\n";
    for (const auto& t : report.repaired)
        std::cout << "watches " << printable(t) << " again, in a new generation\n";
    for (const auto& [t, why] : report.refused)
        std::cout << "skips " << printable(t) << ": " << printable(why) << "\n";
    for (const auto& [t, what] : report.warnings)
        std::cout << "warning: " << printable(t) << ": " << printable(what) << "\n";
}

[[noreturn]] void fail(const std::string& database, const error_code& why) {
    if (why == errc::busy)
        throw cannot("cannot read " + database + ": another connection holds it; try again");
    if (why == errc::not_watched)
        throw cannot("nothing is watched in " + database + ": litefeed watch " + database +
                     " TABLE");
    throw cannot("cannot read " + database + ": " + why.message());
}

std::int64_t now_ms() {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

void print_table(const table_status& t) {
    std::cout << "  " << printable(t.name) << " (key:";
    for (const auto& k : t.key) std::cout << " " << printable(k);
    std::cout << "): " << t.entries << " entries, newest " << t.head.n << ", generation "
              << t.generation << " since " << utc_text(t.generation_ms) << " (" << t.reason
              << ")\n";
    if (t.keep == "latest")
        std::cout << "    kept as latest: beyond its window a row keeps its last entry\n";
    if (t.keyed_by_rowid)
        std::cout << "    its key is the rowid, which VACUUM renumbers: readers then begin again\n";
    if (t.problem) std::cout << "    cannot be answered: " << printable(*t.problem) << "\n";
}

}  // namespace

int run_watch(const std::string& database, const std::vector<std::string>& tables, bool all,
              const watch_options& options, const keeping_wish& keeping) {
    auto writer = keeper::open(database, false);
    print(all ? writer.watch_all(options, keeping) : writer.watch(tables, options, keeping));
    return 0;
}

int run_compact(const std::string& database, std::int64_t entries_max) {
    using std::chrono::steady_clock;
    constexpr auto between_lines = std::chrono::seconds(1),
                   patience_for_writers = std::chrono::seconds(30);
    auto writer = keeper::open(database, false);
    if (entries_max > 0) writer.set_entries_max(entries_max);
    auto told = steady_clock::now(), moved = told;
    std::int64_t done = 0;
    const auto go_on = [&](const thinning_report& so_far) {
        const auto now = steady_clock::now();
        if (std::exchange(done, so_far.removed + so_far.folded) != done) moved = now;
        if (so_far.expected > 0 && now - told > between_lines) {
            told = now;
            std::cerr << "thinned " << done << " of " << so_far.expected << " entries" << std::endl;
        }
        std::this_thread::sleep_for(so_far.pause);
        return now - moved < patience_for_writers;
    };
    const auto report = writer.thin(now_ms(), go_on);
    if (!report) fail(database, report.error());
    std::cout << "removed " << report->removed << " entries, folded " << report->folded
              << "; the floor is " << report->floor.n << "\n";
    if (report->finished) return 0;
    throw cannot("the log of " + database +
                 " is not thinned to the end: writers, readers or a long WAL were in the way; what "
                 "was done stays, so try again");
}

int run_unwatch(const std::string& database, const std::vector<std::string>& tables, bool all) {
    auto writer = keeper::open(database, false);
    auto gone = tables;
    if (all)
        gone = writer.unwatch_all();
    else
        writer.unwatch(tables);
    for (const auto& t : gone) std::cout << "no longer watches " << printable(t) << "\n";
    if (gone.empty()) std::cout << "nothing was watched\n";
    if (all) std::cout << "nothing of litefeed is left in " << database << "\n";
    return 0;
}

int run_status(const std::string& database, bool as_json) {
    auto from = feed::open(database, {.read_only = true, .busy_timeout = patience});
    const auto status = from.status();
    const auto tables = from.tables();
    const bool empty =
        (!tables && tables.error() == errc::not_watched) || (tables && tables->empty());
    if (!status && status.error() != errc::not_watched) fail(database, status.error());
    if (!tables && tables.error() != errc::not_watched) fail(database, tables.error());
    if (as_json) {
        auto list = tables_json(tables ? *tables : std::vector<table_status>{},
                                status ? status->head : stamp{});
        list.resize(list.size() - 2);  // the brace and the line end: more members follow
        list += R"(,"version":")";
        list += version;
        list += '"';
        if (status) (list += ',') += feed_members(*status);
        std::cout << list << "}\n";
        return 0;
    }
    if (status) {
        std::cout << database << ": journal mode " << status->journal_mode << ", "
                  << status->file_bytes << " bytes";
        if (status->wal_bytes > 0) std::cout << " and " << status->wal_bytes << " in the WAL";
        std::cout << "\n";
    }
    if (empty) {
        std::cout << "nothing is watched: litefeed watch " << database << " TABLE\n";
        return 0;
    }
    std::cout << "head " << status->head.n << ", floor " << status->floor.n << ", "
              << status->entries << " entries\n";
    for (const auto& t : *tables) print_table(t);
    for (const auto& p : status->problems) std::cout << "problem: " << printable(p) << "\n";
    return 0;
}

int run_changes(const std::string& database, question ask, answer_format format) {
    auto from = feed::open(database, {.read_only = true, .busy_timeout = patience});
    const auto a = from.changes(ask);
    if (!a && a.error() == errc::unknown_table) {
        const auto name = from.unknown(ask.want);
        throw cannot(
            (name && *name ? **name : std::string("a table")) +
            " is no table that this file's log knows; `litefeed status` lists what is watched");
    }
    if (!a) fail(database, a.error());
    std::string out;
    if (format == answer_format::ndjson) {
        append_answer_lines(out, *a, a->cursor());
    } else {
        append_answer(out, *a, a->cursor());
        out += '\n';
    }
    std::cout << out << std::flush;
    return std::cout ? 0 : 1;
}

}  // namespace litefeed::server
