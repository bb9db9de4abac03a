#include "server/command_line.hpp"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "server/commands.hpp"
#include "server/demo.hpp"
#include "server/printable.hpp"
#include "server/serve.hpp"
#include "server/version.hpp"

namespace litefeed::server {
namespace {

constexpr int done = 0, cannot_do = 1, wrong_use = 2;

constexpr const char* about = "litefeed turns a SQLite database into a live change feed over HTTP.";
constexpr const char* examples = R"(
Examples:
  litefeed demo                                 see it move, with a database of its own
  litefeed serve app.db --watch notes           watch a table and serve its feed
  litefeed serve app.db --watch-all             the same for every table that can be watched
  curl -N localhost:7070/events                 follow it: Server-Sent Events
  curl 'localhost:7070/changes?since=0'         all rows, and a cursor to ask from next
  litefeed tail app.db | jq .                   the same without a server
  litefeed unwatch app.db --all                 leave the file as it was before

Options may stand in a file (--config FILE, one [section] a command) and, where it says so, in the
environment. `litefeed COMMAND --help` tells more.)";

/// Takes one value each time and may come again; the values of CLI11's vectors would swallow what follows.
template <class T>
CLI::Option* repeated(CLI::App* app, const char* name, T& into, const char* help) {
    return app->add_option(name, into, help)->allow_extra_args(false);
}

struct asked {
    std::string database;
    serve_options serve;
    int poll_ms = 2;
    std::vector<std::string> tables;
    bool all = false, json = false, snapshot = false, no_guard = false, skip_unchanged = false;
    std::string since, format = "json", demo_listen;
    int limit = 10'000;
    std::string keep;
    std::int64_t retention_s = 0, entries_max = 0;

    [[nodiscard]] keeping_wish keeping() const {
        keeping_wish out;
        if (!keep.empty()) out.latest = keep == "latest";
        if (retention_s > 0) out.retention_s = retention_s;
        return out;
    }
};

/// 7d, 12h, 30m, 45s: seconds.
const std::map<std::string, std::int64_t> time_units{
    {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 24 * 3600}};

// What a browser sends as Origin; anything else would be compared with it in vain.
const CLI::Validator is_origin(
    [](const std::string& text) {
        const auto colon = text.find("://");
        const bool is_one = colon != std::string::npos && colon > 0 && colon + 3 < text.size() &&
                            text.find_first_of("/*?# ", colon + 3) == std::string::npos;
        return is_one ? ""
                      : "write it as browsers send it: https://app.example, without a path; "
                        "there is no wildcard";
    },
    "ORIGIN");
const CLI::Validator is_host(
    [](const std::string& text) {
        return text.find_first_of("/*?# ") == std::string::npos
                   ? ""
                   : "write a name as a proxy sends it, as app.example; there is no wildcard";
    },
    "NAME");

void add_database(CLI::App* to, asked& a) {
    to->add_option("DB", a.database, "The SQLite file")->required()->envname("LITEFEED_DB");
}

void add_watching(CLI::App* to, asked& a) {
    to->add_flag(
        "--no-replace-guard", a.no_guard,
        "Without the triggers that see rows vanish by REPLACE; then DROP COLUMN never meets one");
    to->add_flag(
        "--skip-unchanged", a.skip_unchanged,
        "No entry for an update that changes nothing; the trigger then names every column, and "
        "DROP COLUMN fails until the table is unwatched");
    to->add_option(
          "--keep", a.keep,
          "What becomes of entries beyond the window: `window` (they go, and who is behind "
          "starts over) or `latest` (each row keeps its last one, and everyone is answered; once "
          "one table of the file is kept so, all are)")
        ->check(CLI::IsMember({"window", "latest"}));
    to->add_option("--retention", a.retention_s,
                   "The window, as 12h or 30d; without it the file's, 7d at first")
        ->transform(CLI::AsNumberWithUnit(time_units, CLI::AsNumberWithUnit::UNIT_REQUIRED))
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{3'153'600'000}));
}

CLI::App* add_serve(CLI::App& app, asked& a) {
    auto* s = app.add_subcommand("serve", "Serve the feed of a database over HTTP");
    add_database(s, a);
    auto& o = a.serve;
    repeated(s, "--watch", o.watch, "Watch this table first; may be repeated")
        ->envname("LITEFEED_WATCH");
    s->add_flag("--watch-all", o.watch_all,
                "Watch every table that can be; tells which, and why not the others")
        ->envname("LITEFEED_WATCH_ALL");
    add_watching(s, a);
    s->add_option("--listen", o.server.listen,
                  "HOST:PORT; port 0 takes a free one and says which; localhost is both loopbacks")
        ->capture_default_str()
        ->envname("LITEFEED_LISTEN");
    s->add_option("--threads", o.server.threads,
                  "Loops, each with its own connections; one serves thousands of streams")
        ->check(CLI::Range(1, 64))
        ->capture_default_str()
        ->envname("LITEFEED_THREADS");
    s->add_option(
         "--poll", a.poll_ms,
         "Milliseconds between two looks at the file while anyone listens and it is written")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str()
        ->envname("LITEFEED_POLL");
    s->add_option(
         "--compact-every", o.compact_every_s,
         "How often the log is thinned, as 10m or 1h; 0s: never, `litefeed compact` does it")
        ->transform(CLI::AsNumberWithUnit(time_units, CLI::AsNumberWithUnit::UNIT_REQUIRED))
        ->check(CLI::Range(std::int64_t{0}, std::int64_t{31'536'000}))
        ->envname("LITEFEED_COMPACT_EVERY");
    s->add_flag("--read-only", o.server.read_only,
                "Never write to the file, not even to repair capture")
        ->envname("LITEFEED_READ_ONLY");
    repeated(s, "--hide", o.server.columns.hide,
             "TABLE.COLUMN that never leaves the house; may be repeated")
        ->envname("LITEFEED_HIDE");
    repeated(s, "--only", o.server.columns.only,
             "TABLE:COLUMN,COLUMN that alone leave it, beside the key; may be repeated")
        ->envname("LITEFEED_ONLY");
    s->add_option("--row-bytes-max", o.server.row_bytes_max,
                  "A row whose texts and blobs hold more bytes comes as its key alone")
        ->check(CLI::Range(std::size_t{1}, std::size_t{1'000'000'000}))
        ->capture_default_str()
        ->envname("LITEFEED_ROW_BYTES_MAX");
    repeated(s, "--allow-host", o.server.allow_hosts,
             "A Host that may be asked for beside the loopback names, as a proxy sends it; may be "
             "repeated")
        ->check(is_host)
        ->envname("LITEFEED_ALLOW_HOST");
    repeated(s, "--cors-origin", o.server.cors_origins,
             "An origin whose pages may read the answers, as https://app.example; may be repeated")
        ->check(is_origin)
        ->envname("LITEFEED_CORS_ORIGIN");
    s->add_option("--token-file", o.server.token_file,
                  "Answer only who brings a token of this file: a line is `read TOKEN` or `admin "
                  "TOKEN`, # begins a comment; read again as it changes; see below")
        ->envname("LITEFEED_TOKEN_FILE");
    s->add_flag("--insecure", o.server.insecure,
                "Listen beyond loopback without tokens, although anyone there may then read")
        ->envname("LITEFEED_INSECURE");
    s->footer(
        "\nServes what is watched in the file; --watch adds to that, for good.\n"
        "Tokens: (umask 077; echo \"read $(openssl rand -hex 32)\" > tokens), then serve with\n"
        "--token-file tokens, and ask with the header `Authorization: Bearer TOKEN`; a browser "
        "opens\n"
        "/?token=TOKEN once. A line that is taken away counts within two seconds and ends its "
        "streams.\n"
        "Example: litefeed serve app.db --watch notes --hide notes.secret --listen 127.0.0.1:0");
    return s;
}

CLI::App* add_changes(CLI::App& app, asked& a) {
    auto* s =
        app.add_subcommand("changes", "Print what changed since a cursor, once; needs no server");
    add_database(s, a);
    s->add_option("--since", a.since,
                  "0 (everything), now, a stamp, or a cursor from an earlier answer")
        ->required();
    repeated(s, "--table", a.tables, "Only this table; may be repeated");
    s->add_option("--limit", a.limit, "Most changes in the answer")
        ->check(CLI::Range(1, 100'000))
        ->capture_default_str();
    s->add_flag("--snapshot", a.snapshot,
                "What cannot be continued comes as rows in the same answer");
    s->add_option("--format", a.format, "json or ndjson")
        ->check(CLI::IsMember({"json", "ndjson"}))
        ->capture_default_str();
    s->footer("\nExample: litefeed changes app.db --since 0 --table notes --format ndjson");
    return s;
}

position read_since(const std::string& text) {
    auto at = parse_position(text);
    if (!at)
        throw CLI::ValidationError("--since", "now, 0, a stamp, or a cursor as an answer gave it");
    return std::move(*at);
}

int run(CLI::App& app, asked& a) {
    const auto given = [&](const char* name) { return app.got_subcommand(name); };
    const watch_options watching{.replace_guards = !a.no_guard, .skip_unchanged = a.skip_unchanged};
    const bool one_of_both = a.all != !a.tables.empty();
    if (given("serve")) {
        a.serve.server.database = a.database;
        a.serve.server.poll = std::chrono::milliseconds(a.poll_ms);
        a.serve.watching = watching;
        a.serve.keeping = a.keeping();
        if ((!a.keep.empty() || a.retention_s > 0) && a.serve.watch.empty() && !a.serve.watch_all)
            throw CLI::ValidationError(
                "--keep",
                "with --retention it says how --watch TABLE or --watch-all keeps a "
                "table; name it, too");
        return run_serve(std::move(a.serve));
    }
    if (given("watch") || given("unwatch")) {
        if (!one_of_both) throw CLI::ValidationError("TABLE", "name tables, or say --all");
        return given("watch") ? run_watch(a.database, a.tables, a.all, watching, a.keeping())
                              : run_unwatch(a.database, a.tables, a.all);
    }
    if (given("status")) return run_status(a.database, a.json);
    if (given("compact")) return run_compact(a.database, a.entries_max);
    if (given("demo")) return run_demo(a.demo_listen);
    question ask{.from = a.since.empty() ? position(from_now{}) : read_since(a.since),
                 .want = {.tables = a.tables},
                 .rows_max = a.limit,
                 .snapshot = a.snapshot};
    if (given("changes"))
        return run_changes(a.database, std::move(ask),
                           a.format == "ndjson" ? answer_format::ndjson : answer_format::json);
    return run_tail(a.database, std::move(ask));
}

/// Names in a file may hold anything, and a log is read on a terminal.
class printable_message : public spdlog::custom_flag_formatter {
  public:
    void format(const spdlog::details::log_msg& message, const std::tm&,
                spdlog::memory_buf_t& to) override {
        const auto text = printable({message.payload.data(), message.payload.size()});
        to.append(text.data(), text.data() + text.size());
    }
    [[nodiscard]] std::unique_ptr<spdlog::custom_flag_formatter> clone() const override {
        return std::make_unique<printable_message>();
    }
};

void set_up_log() {
    auto log = spdlog::stderr_logger_mt("litefeed");
    auto lines = std::make_unique<spdlog::pattern_formatter>();
    lines->add_flag<printable_message>('*').set_pattern("%Y-%m-%d %H:%M:%S.%e %l: %*");
    log->set_formatter(std::move(lines));
    log->flush_on(spdlog::level::info);
    spdlog::set_default_logger(std::move(log));
}

}  // namespace

int run_command_line(int argc, char** argv) {
    set_up_log();
    CLI::App app(about, "litefeed");
    app.footer(examples);
    app.set_version_flag("--version", "litefeed " + std::string(version));
    app.set_config("--config", "", "Read options from this file (TOML)");
    app.require_subcommand(1);
    app.fallthrough();
    asked a;
    add_serve(app, a);
    auto* watch = app.add_subcommand("watch", "Watch tables: adds triggers and a log to the file");
    add_database(watch, a);
    watch->add_option("TABLE", a.tables, "The tables");
    watch->add_flag("--all", a.all, "Every table that can be watched");
    add_watching(watch, a);
    watch->footer("\nExample: litefeed watch app.db notes tags");
    auto* unwatch = app.add_subcommand(
        "unwatch", "Stop watching; --all leaves nothing of litefeed in the file");
    add_database(unwatch, a);
    unwatch->add_option("TABLE", a.tables, "The tables");
    unwatch->add_flag("--all", a.all, "All of them, and the log");
    auto* status = app.add_subcommand("status", "Tell what is watched and how far the log is");
    add_database(status, a);
    status->add_flag("--json", a.json, "For a program");
    auto* compact =
        app.add_subcommand("compact", "Thin the log now; a server does it by itself, every hour");
    add_database(compact, a);
    compact
        ->add_option("--entries-max", a.entries_max,
                     "The most entries the log may have from now on, whatever their age")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000'000}));
    compact->footer(
        "\nRemoves what is older than its table's window, or folds it once a table is kept\n"
        "as `latest`. In small steps, so that writers wait for milliseconds. Example: litefeed "
        "compact app.db");
    add_changes(app, a);
    auto* tail =
        app.add_subcommand("tail", "Print changes as they come, one a line; needs no server");
    add_database(tail, a);
    tail->add_option("--since", a.since, "Begin here instead of now");
    repeated(tail, "--table", a.tables, "Only this table; may be repeated");
    tail->add_flag("--snapshot", a.snapshot, "What cannot be continued comes as rows");
    auto* demo =
        app.add_subcommand("demo", "Serve a database of its own, in which something moves");
    demo->add_option("--listen", a.demo_listen,
                     "HOST:PORT instead of the first free port from 7070");

    try {
        app.parse(argc, argv);
        return run(app, a);
    } catch (const CLI::RequiredError& e) {
        // CLI11 misses the command before it says what it read in its place.
        if (app.get_subcommands().empty() && !app.remaining().empty())
            std::cerr << "There is no command " << printable(app.remaining().front()) << ".\n";
        (void)app.exit(e);
        return wrong_use;
    } catch (const CLI::ParseError& e) {
        return app.exit(e) == 0 ? done : wrong_use;
    } catch (const cannot& e) {
        std::cerr << "litefeed: " << printable(e.what()) << "\n";
    } catch (const std::exception& e) {
        std::cerr << "litefeed: " << printable(e.what()) << "\n";
    }
    return cannot_do;
}

}  // namespace litefeed::server
