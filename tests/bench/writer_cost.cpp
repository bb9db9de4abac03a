// What capture costs the program that writes: the same statements on a watched file and on its
// unwatched twin, in turns, so that whatever else the machine does falls on both.
// usage: writer_cost --help
#include <sqlite3.h>
#include <time.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/keeper.hpp"

namespace {

namespace fs = std::filesystem;

struct settings {
    std::string directory = fs::temp_directory_path().string();
    int repetitions = 9;
    int rows = 10'000;
    int commits = 2'000;
    std::string only;
    std::string json_file;
    bool check = false;
    double tolerance = 0;
    std::string clock = "wall";
};

// The owner's connection, opened as any program opens one: nothing of litefeed's in it.
class owner {
  public:
    owner(fs::path file, const std::string& journal) : file_(std::move(file)) {
        remove_files();
        if (sqlite3_open(file_.c_str(), &db_) != SQLITE_OK) fail("open");
        run("PRAGMA journal_mode=" + journal);
        if (journal == "wal") run("PRAGMA synchronous=NORMAL");
    }
    ~owner() {
        for (auto& [sql, handle] : prepared_) sqlite3_finalize(handle);
        sqlite3_close(db_);
        remove_files();
    }
    owner(const owner&) = delete;
    owner& operator=(const owner&) = delete;

    void run(const std::string& sql) {
        if (sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail(sql);
    }

    // ?1 is the row's id, ?2 a number that is new each time; a statement may leave ?2 out.
    void run_for(const std::string& sql, std::int64_t id, std::int64_t number) {
        sqlite3_stmt* s = prepare(sql);
        sqlite3_bind_int64(s, 1, id);
        sqlite3_bind_int64(s, 2, number);
        if (sqlite3_step(s) != SQLITE_DONE) fail(sql);
        sqlite3_reset(s);
    }

    // Between measurements: what one of them left in the WAL is not paid for by the next.
    void settle() { run("PRAGMA wal_checkpoint(TRUNCATE)"); }

    [[nodiscard]] const fs::path& file() const { return file_; }

  private:
    sqlite3_stmt* prepare(const std::string& sql) {
        for (auto& [known, handle] : prepared_) {
            if (known == sql) return handle;
        }
        sqlite3_stmt* handle = nullptr;
        if (sqlite3_prepare_v3(db_, sql.c_str(), -1, SQLITE_PREPARE_PERSISTENT, &handle, nullptr) !=
            SQLITE_OK) {
            fail(sql);
        }
        prepared_.emplace_back(sql, handle);
        return handle;
    }

    [[noreturn]] void fail(const std::string& what) const {
        throw std::runtime_error(what + ": " + sqlite3_errmsg(db_));
    }

    void remove_files() const {
        for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
            fs::remove(file_.string() + suffix);
        }
    }

    fs::path file_;
    sqlite3* db_ = nullptr;
    std::vector<std::pair<std::string, sqlite3_stmt*>> prepared_;
};

// A table `notes` and how its file keeps its journal.
struct shape {
    std::string name, journal, columns, indexes;
    std::string values;         // of row ?1, after the id
    bool slow_commits = false;  // each waits for the disk
};

const std::vector<shape>& shapes() {
    static const std::string plain = "id INTEGER PRIMARY KEY, title TEXT, body TEXT";
    static const std::string plain_values = "'title number '||?1, printf('%.200c','b')";
    static const std::string unique_values = plain_values + ", 'slug-'||?1, 'name'||?1||'@mail'";
    static const std::vector<shape> all{
        {"plain", "wal", plain, "", plain_values},
        {"plain", "delete", plain, "", plain_values, true},
        {"2 UNIQUE", "wal", plain + ", slug TEXT UNIQUE, mail TEXT UNIQUE", "", unique_values},
        {"2 UNIQUE INDEX", "wal", plain + ", slug TEXT, mail TEXT",
         "CREATE UNIQUE INDEX notes_slug ON notes(slug); CREATE UNIQUE INDEX notes_mail ON "
         "notes(mail);",
         unique_values},
    };
    return all;
}

enum class target_kind { none, ratio, watched_us };

struct measure {
    std::string name;
    enum class unit { commit, row } per;
    target_kind kind = target_kind::none;
    double target = 0;
};

struct times {
    double unwatched_us = 0, watched_us = 0;
    [[nodiscard]] double ratio() const { return watched_us / unwatched_us; }
};

// Both files of one shape in one repetition, and the statements that are timed on them.
class twins {
  public:
    twins(const shape& of, const settings& how, int repetition)
        : shape_(of),
          how_(how),
          repetition_(repetition),
          directory_(make_directory(how.directory)),
          unwatched_(directory_ / "unwatched.db", of.journal),
          watched_(directory_ / "watched.db", of.journal) {
        for (owner* o : {&unwatched_, &watched_}) {
            o->run("CREATE TABLE notes(" + shape_.columns + "); " + shape_.indexes);
            o->run("BEGIN");
            for (int id = 1; id <= how_.rows; ++id) o->run_for(insert_row(), id, 0);
            o->run("COMMIT; CREATE TABLE saved AS SELECT * FROM notes");
        }
        (void)litefeed::keeper::open(watched_.file(), false).watch({"notes"}, {});
        for (owner* o : {&unwatched_, &watched_}) o->settle();
    }
    ~twins() { fs::remove_all(directory_); }
    twins(const twins&) = delete;
    twins& operator=(const twins&) = delete;

    // One row a commit, in short blocks that change sides.
    times commits(const std::string& sql, const std::function<std::int64_t(int)>& id_of) {
        const int count = shape_.slow_commits ? std::max(20, how_.commits / 20) : how_.commits;
        const int block = shape_.slow_commits ? 5 : 50;
        times sum;
        for (int done = 0; done < count; done += block) {
            in_turns(
                [&](owner& o, double& us) {
                    const double begin = now_us();
                    for (int i = done; i < done + block; ++i) o.run_for(sql, id_of(i), serial_ + i);
                    us += now_us() - begin;
                },
                sum, done / block);
        }
        serial_ += count;
        settle();
        return {sum.unwatched_us / count, sum.watched_us / count};
    }

    // One statement of `rows` rows, three times on each side; `undo` is not timed.
    times bulk(const std::string& sql, const std::string& undo = {}) {
        std::vector<double> unwatched, watched;
        for (int turn = 0; turn < 3; ++turn) {
            times once;
            ++serial_;
            in_turns(
                [&](owner& o, double& us) {
                    const double begin = now_us();
                    o.run_for(sql, how_.rows, serial_);
                    us = now_us() - begin;
                    o.settle();
                    if (!undo.empty()) o.run(undo);
                    o.settle();
                },
                once, turn);
            unwatched.push_back(once.unwatched_us / how_.rows);
            watched.push_back(once.watched_us / how_.rows);
        }
        return {middle(unwatched), middle(watched)};
    }

    std::string insert_row() const { return "INSERT INTO notes VALUES(?1, " + shape_.values + ")"; }

    static double middle(std::vector<double> of) {
        std::sort(of.begin(), of.end());
        const std::size_t half = of.size() / 2;
        return of.size() % 2 == 1 ? of[half] : (of[half - 1] + of[half]) / 2;
    }

  private:
    [[nodiscard]] double now_us() const {
        timespec t{};
        clock_gettime(how_.clock == "cpu" ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
        return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) / 1e3;
    }

    static fs::path make_directory(const std::string& in) {
        std::string name = (fs::path(in) / "litefeed-writer-cost-XXXXXX").string();
        if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot write in " + in);
        return name;
    }

    template <class Do>
    void in_turns(const Do& once, times& into, int turn) {
        if ((turn + repetition_) % 2 == 0) {
            once(unwatched_, into.unwatched_us);
            once(watched_, into.watched_us);
        } else {
            once(watched_, into.watched_us);
            once(unwatched_, into.unwatched_us);
        }
    }

    void settle() {
        unwatched_.settle();
        watched_.settle();
    }

    const shape& shape_;
    const settings& how_;
    int repetition_;
    fs::path directory_;
    owner unwatched_, watched_;
    std::int64_t serial_ = 0;
};

struct task {
    measure what;
    std::function<times(twins&)> run;
};

std::vector<task> tasks(const shape& of, const settings& how) {
    using unit = measure::unit;
    const bool plain = of.name == "plain";
    const int rows = how.rows;
    const auto some_row = [rows](int i) { return 1 + (i * 7919LL) % rows; };
    const auto new_row = [rows](int i) { return rows + 1LL + i; };
    std::vector<task> out{
        {{"update, a commit", unit::commit, target_kind::ratio, 1.5},
         [=](twins& t) {
             return t.commits("UPDATE notes SET title='changed title '||?2 WHERE id=?1", some_row);
         }},
        {{"insert, a commit", unit::commit, target_kind::ratio, 1.6},
         [=](twins& t) { return t.commits(t.insert_row(), new_row); }},
        {{"delete, a commit", unit::commit, target_kind::none, 0},
         [=](twins& t) { return t.commits("DELETE FROM notes WHERE id=?1", new_row); }},
    };
    if (of.slow_commits) return out;

    const std::string unique = plain ? "" : ", slug||'+', mail||'+'";
    const std::string by_row = plain ? "" : ", slug, mail";
    out.push_back(
        {{"bulk update of a plain column", unit::row, target_kind::ratio, plain ? 2.0 : 2.4},
         [](twins& t) {
             return t.bulk("UPDATE notes SET title='bulk title '||?2||'-'||id WHERE id<=?1");
         }});
    if (!plain) {
        out.push_back(
            {{"bulk update of a unique column", unit::row, target_kind::none, 0}, [](twins& t) {
                 return t.bulk("UPDATE notes SET slug='slug-'||?2||'-'||id WHERE id<=?1");
             }});
    }
    out.push_back({{"bulk insert", unit::row, target_kind::none, 0}, [=](twins& t) {
                       return t.bulk("INSERT INTO notes SELECT id+1000000, title, body" + unique +
                                         " FROM saved WHERE id<=?1",
                                     "DELETE FROM notes WHERE id>1000000");
                   }});
    out.push_back({{"OR IGNORE of rows that are there", unit::row, target_kind::watched_us, 2.5},
                   [=](twins& t) {
                       return t.bulk("INSERT OR IGNORE INTO notes SELECT id, title, body" + by_row +
                                     " FROM saved WHERE id<=?1");
                   }});
    out.push_back(
        {{"REPLACE of rows that are there", unit::row, target_kind::none, 0}, [=](twins& t) {
             return t.bulk("REPLACE INTO notes SELECT id, title, body" + by_row +
                           " FROM saved WHERE id<=?1");
         }});
    out.push_back({{"bulk delete", unit::row, target_kind::none, 0}, [](twins& t) {
                       return t.bulk("DELETE FROM notes WHERE id<=?1",
                                     "INSERT INTO notes SELECT * FROM saved");
                   }});
    return out;
}

// The repetitions of one measure, and the verdict on them.
struct outcome {
    const shape* of;
    measure what;
    std::vector<times> repetitions;

    [[nodiscard]] std::vector<double> each(const std::function<double(const times&)>& f) const {
        std::vector<double> out;
        for (const times& t : repetitions) out.push_back(f(t));
        return out;
    }
    [[nodiscard]] std::vector<double> ratios() const {
        return each([](const times& t) { return t.ratio(); });
    }
    [[nodiscard]] double unwatched_us() const {
        return twins::middle(each([](const times& t) { return t.unwatched_us; }));
    }
    [[nodiscard]] double watched_us() const {
        return twins::middle(each([](const times& t) { return t.watched_us; }));
    }
    [[nodiscard]] std::optional<bool> met(double tolerance) const {
        if (what.kind == target_kind::none) return std::nullopt;
        const double seen =
            what.kind == target_kind::ratio ? twins::middle(ratios()) : watched_us();
        return seen <= what.target * (1 + tolerance);
    }
};

std::string target_text(const measure& m) {
    std::array<char, 32> text{};
    if (m.kind == target_kind::ratio) {
        std::snprintf(text.data(), text.size(), "x%.1f", m.target);
    } else if (m.kind == target_kind::watched_us) {
        std::snprintf(text.data(), text.size(), "%.1f us", m.target);
    }
    return text.data();
}

void print_table(const std::vector<outcome>& outcomes, const settings& how) {
    std::printf("SQLite %s, %s, medians of %d repetitions; µs a commit or a row\n\n",
                sqlite3_libversion(), how.directory.c_str(), how.repetitions);
    std::printf(
        "| %-14s | %-6s | %-32s | unwatched | watched | ratio | spread      | target | met |\n",
        "notes", "mode", "what");
    std::printf(
        "| %.14s | %.6s | %.32s | --------: | ------: | ----: | ----------- | -----: | --- |\n",
        "--------------", "------", "--------------------------------");
    for (const outcome& o : outcomes) {
        const auto ratios = o.ratios();
        const auto [low, high] = std::minmax_element(ratios.begin(), ratios.end());
        const auto met = o.met(how.tolerance);
        std::printf(
            "| %-14s | %-6s | %-32s | %9.2f | %7.2f | x%4.2f | x%4.2f-%5.2f | %6s | %-3s |\n",
            o.of->name.c_str(), o.of->journal.c_str(), o.what.name.c_str(), o.unwatched_us(),
            o.watched_us(), twins::middle(ratios), *low, *high, target_text(o.what).c_str(),
            !met   ? ""
            : *met ? "yes"
                   : "NO");
    }
}

void write_json(const std::vector<outcome>& outcomes, const settings& how) {
    nlohmann::json out{{"sqlite", sqlite3_libversion()},
                       {"repetitions", how.repetitions},
                       {"rows", how.rows},
                       {"commits", how.commits},
                       {"measures", nlohmann::json::array()}};
    for (const outcome& o : outcomes) {
        nlohmann::json m{{"table", o.of->name},
                         {"journal", o.of->journal},
                         {"what", o.what.name},
                         {"per", o.what.per == measure::unit::commit ? "commit" : "row"},
                         {"unwatched_us", o.unwatched_us()},
                         {"watched_us", o.watched_us()},
                         {"ratio", twins::middle(o.ratios())},
                         {"ratios", o.ratios()}};
        if (const auto met = o.met(how.tolerance)) {
            m["target"] = target_text(o.what);
            m["met"] = *met;
        }
        out["measures"].push_back(std::move(m));
    }
    std::ofstream file(how.json_file);
    file << out.dump(2) << "\n";
    if (!file.flush()) throw std::runtime_error("cannot write " + how.json_file);
}

std::vector<outcome> measure_all(const settings& how) {
    std::vector<outcome> out;
    for (int repetition = 0; repetition < how.repetitions; ++repetition) {
        std::size_t place = 0;
        for (const shape& of : shapes()) {
            const std::string full_name = of.name + " " + of.journal;
            if (full_name.find(how.only) == std::string::npos) continue;
            twins both(of, how, repetition);
            for (const task& t : tasks(of, how)) {
                if (repetition == 0) out.push_back({&of, t.what, {}});
                out[place++].repetitions.push_back(t.run(both));
            }
        }
        std::fprintf(stderr, "repetition %d of %d\n", repetition + 1, how.repetitions);
    }
    return out;
}

}  // namespace

int main(int argc, char** argv) {
    settings how;
    CLI::App app(
        "What capture costs the program that writes: a watched file beside its unwatched twin.");
    app.add_option("--dir", how.directory, "Where the files are made")->capture_default_str();
    app.add_option("--repetitions", how.repetitions, "Fresh files each")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    app.add_option("--rows", how.rows, "Rows of the table")
        ->check(CLI::Range(100, 900'000))
        ->capture_default_str();
    app.add_option("--commits", how.commits, "Single commits of each kind")
        ->check(CLI::Range(50, 1'000'000))
        ->capture_default_str();
    app.add_option("--clock", how.clock,
                   "wall: what the owner waits; cpu: what its thread works, for a machine that is "
                   "busy with other things")
        ->check(CLI::IsMember({"wall", "cpu"}))
        ->capture_default_str();
    app.add_option("--only", how.only,
                   "Only tables with this in their name or mode, as 'plain wal'");
    app.add_option("--json", how.json_file, "Write the figures here too");
    app.add_flag("--check", how.check, "Exit code 1 when a target is missed");
    app.add_option("--tolerance", how.tolerance, "How far a target may be missed: 0.1 is a tenth")
        ->check(CLI::Range(0.0, 10.0));
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        return app.exit(e) == 0 ? 0 : 2;
    }
    try {
        const auto outcomes = measure_all(how);
        print_table(outcomes, how);
        if (!how.json_file.empty()) write_json(outcomes, how);
        const bool missed = std::any_of(outcomes.begin(), outcomes.end(), [&](const outcome& o) {
            return o.met(how.tolerance) == std::optional(false);
        });
        return how.check && missed ? 1 : 0;
    } catch (const std::exception& e) {
        std::cerr << "writer_cost: " << e.what() << "\n";
        return 1;
    }
}
