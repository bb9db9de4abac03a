#include "server/demo_app.hpp"

#include <sqlite3.h>

#include <array>
#include <chrono>
#include <random>

#include "core/errc.hpp"

// The demo's owner of the file, and therefore the one place outside core/ with SQL: what any app would run.
namespace litefeed::server {

struct demo_app::state {
    sqlite3* db = nullptr;
    ~state() { sqlite3_close(db); }
    void run(const std::string& sql) const {
        char* why = nullptr;
        if (sqlite3_exec(db, sql.c_str(), nullptr, nullptr, &why) == SQLITE_OK) return;
        const std::string text = why != nullptr ? why : "unknown";
        sqlite3_free(why);
        throw cannot("the demo's database: " + text);
    }
};

demo_app::demo_app(const std::string& database) : state_(std::make_unique<state>()) {
    if (sqlite3_open(database.c_str(), &state_->db) != SQLITE_OK)
        throw cannot("cannot make " + database + ": " + sqlite3_errmsg(state_->db));
    sqlite3_busy_timeout(state_->db, 5000);
    state_->run(R"(
        PRAGMA journal_mode = WAL;
        CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT NOT NULL, done INTEGER NOT NULL DEFAULT 0);
        CREATE TABLE stocks (symbol TEXT NOT NULL PRIMARY KEY, price REAL NOT NULL, moved_at TEXT) WITHOUT ROWID;
        INSERT INTO notes (title) VALUES ('Buy milk'), ('Write to Ada'), ('Read the feed');
        INSERT INTO stocks VALUES ('ACME', 120.5, NULL), ('GLOB', 48.25, NULL), ('INIT', 9.75, NULL);)");
}

demo_app::~demo_app() {
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
}

void demo_app::start() {
    thread_ = std::thread([this] {
        std::minstd_rand random{std::random_device{}()};
        constexpr std::array symbols{"ACME", "GLOB", "INIT"};
        for (int tick = 1; !stopping_; ++tick) {
            const auto* symbol = symbols[random() % symbols.size()];
            const int move = static_cast<int>(random() % 401) - 200;
            try {
                state_->run("UPDATE stocks SET price = round(max(1, price + " +
                            std::to_string(move) +
                            " / 100.0), 2), moved_at = datetime('now') "
                            "WHERE symbol = '" +
                            symbol + "'");
                if (tick % 20 == 0)
                    state_->run(
                        "INSERT INTO notes (title) VALUES ('Note at ' || time('now'));"
                        "DELETE FROM notes WHERE id <= (SELECT max(id) FROM notes) - 8");
            } catch (const cannot&) {
                // Busy: the next tick writes again.
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(300));
        }
    });
}

}  // namespace litefeed::server
