#include "server/commands.hpp"

#include <algorithm>
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

// Names and words come from the owner's file, and may be damaged: what reaches the terminal is text.
void tell(const std::string& line) { std::cout << printable(line) << "\n"; }

void tell(const watch_report& report) {
    for (const auto& t : report.watched) tell("watches " + t);
    for (const auto& t : report.kept) tell("watches " + t + " already");
    for (const auto& t : report.repaired) tell("watches " + t + " again, in a new generation");
    for (const auto& [t, why] : report.refused) tell("skips " + t + ": " + why);
    for (const auto& [t, what] : report.warnings) tell("warning: " + t + ": " + what);
}

[[noreturn]] void fail(const std::string& database, const error_code& why) {
    if (why == errc::busy)
        throw cannot("cannot read " + database + ": another connection holds it; try again");
    throw cannot("cannot read " + database + ": " + why.message());
}

std::int64_t now_ms() {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

std::string duration_text(std::int64_t seconds) {
    for (const auto& [unit, size] :
         {std::pair{"d", 24 * 3600}, std::pair{"h", 3600}, std::pair{"m", 60}})
        if (seconds >= size && seconds % size == 0) return std::to_string(seconds / size) + unit;
    return std::to_string(seconds) + "s";
}

void tell(const table_status& t, bool folds) {
    auto line = "  " + t.name + " (key:";
    for (const auto& k : t.key) line += " " + k;
    line += "): " + std::to_string(t.entries) + " entries, newest " + std::to_string(t.head.n) +
            ", generation " + std::to_string(t.generation) + " since " + utc_text(t.generation_ms) +
            " (" + t.reason + ")";
    tell(line);
    tell("    entries older than " + duration_text(t.retention_s) +
         (folds ? " are folded: a row keeps its last one" : " go"));
    if (t.keyed_by_rowid)
        tell("    its key is the rowid, which VACUUM renumbers: readers then begin again");
    if (t.problem) tell("    cannot be answered: " + *t.problem);
}

}  // namespace

int run_watch(const std::string& database, const std::vector<std::string>& tables, bool all,
              const watch_options& options, const keeping_wish& keeping) {
    auto writer = keeper::open(database, false);
    tell(all ? writer.watch_all(options, keeping) : writer.watch(tables, options, keeping));
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
    tell("removed " + std::to_string(report->removed) + " entries, folded " +
         std::to_string(report->folded) + "; the floor is " + std::to_string(report->floor.n));
    if (report->finished) return 0;
    throw cannot(
        "the log of " + database +
        " is not thinned to the end: writers, readers, a long WAL, or a change of the schema "
        "or the whole file were in the way; what was done stays, so try again");
}

int run_unwatch(const std::string& database, const std::vector<std::string>& tables, bool all) {
    auto writer = keeper::open(database, false);
    auto gone = tables;
    if (all)
        gone = writer.unwatch_all();
    else
        writer.unwatch(tables);
    for (const auto& t : gone) tell("no longer watches " + t);
    if (gone.empty()) tell("nothing was watched");
    if (all) tell("nothing of litefeed is left in " + database);
    return 0;
}

int run_status(const std::string& database, bool as_json) {
    auto from = feed::open(database, {.read_only = true, .busy_timeout = patience});
    const auto status = from.status();
    const auto tables = from.tables({.counts = true});
    if (!status) fail(database, status.error());
    if (!tables) fail(database, tables.error());
    if (as_json) {
        auto list = tables_json(*tables);
        list.resize(list.size() - 2);  // the brace and the line end: more members follow
        list += R"(,"version":")";
        list += version;
        list += '"';
        (list += ',') += feed_members(*status);
        std::cout << list << "}\n";
        return 0;
    }
    auto line = database + ": journal mode " + status->journal_mode + ", " +
                std::to_string(status->file_bytes) + " bytes";
    if (status->wal_bytes > 0) line += " and " + std::to_string(status->wal_bytes) + " in the WAL";
    tell(line);
    if (tables->tables.empty()) {
        tell("nothing is watched: litefeed watch " + database + " TABLE");
        return 0;
    }
    tell("head " + std::to_string(status->head.n) + ", floor " + std::to_string(status->floor.n) +
         ", " + std::to_string(status->entries) + " entries");
    // The log loses its beginning, or it does not: one table that is kept as `latest` decides for all.
    const bool folds = std::any_of(tables->tables.begin(), tables->tables.end(),
                                   [](const auto& t) { return t.keep == "latest"; });
    for (const auto& t : tables->tables) tell(t, folds);
    for (const auto& p : status->problems) tell("problem: " + p);
    return 0;
}

void tell_if_nothing_is_watched(const std::string& database, feed& from) {
    const auto tables = from.tables();
    if (tables && tables->tables.empty())
        std::cerr << printable("litefeed: nothing is watched in " + database + ": litefeed watch " +
                               database + " TABLE")
                  << "\n";
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
    tell_if_nothing_is_watched(database, from);
    return std::cout ? 0 : 1;
}

}  // namespace litefeed::server
