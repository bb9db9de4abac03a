#include "server/demo.hpp"

#include <spdlog/spdlog.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "core/keeper.hpp"
#include "server/demo_app.hpp"
#include "server/server.hpp"
#include "server/signals.hpp"

namespace litefeed::server {
namespace {

constexpr int port_first = 7070, ports_tried = 30;

/// A directory that goes when this does.
class temporary_directory {
  public:
    temporary_directory() {
        auto name = (std::filesystem::temp_directory_path() / "litefeed-demo-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr)
            throw cannot("cannot make a directory like " + name +
                         "; set TMPDIR to one that can be written");
        path_ = name;
    }
    ~temporary_directory() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    temporary_directory(const temporary_directory&) = delete;
    temporary_directory& operator=(const temporary_directory&) = delete;
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

std::vector<std::vector<listening_socket>> open_demo_port(const std::string& listen) {
    if (!listen.empty()) return open_listeners(listen, 1, false);
    for (int i = 0;; ++i) {
        try {
            return open_listeners("127.0.0.1:" + std::to_string(port_first + i), 1, false);
        } catch (const cannot&) {
            if (i + 1 == ports_tried) throw;
        }
    }
}

void explain(const std::string& url, const std::string& database) {
    std::cout << "A small database stands in " << database << "; something writes to it.\n\n"
              << "  Open        " << url << "/\n"
              << "  Follow      curl -N '" << url << "/events'\n"
              << "  Ask once    curl '" << url << "/changes?since=0'\n"
              << "  One table   curl '" << url << "/rows/notes'\n"
              << "  Write       sqlite3 " << database
              << " \"INSERT INTO notes (title) VALUES ('Hello')\"\n\n"
              << "Ctrl-C ends it and removes the database.\n"
              << std::flush;
}

}  // namespace

int run_demo(const std::string& listen) {
    const stop_signals signals;
    const temporary_directory home;
    const auto database = (home.path() / "demo.db").string();
    demo_app app(database);
    auto sockets = open_demo_port(listen);
    const auto url = sockets.front().front().url();
    auto writer = keeper::open(database, true);
    writer.watch({"notes", "stocks"}, {});
    server_options options;
    options.database = database;
    keeper_orders orders;
    orders.path = database;
    auto keeps = std::make_unique<keeper_thread>(std::move(orders), std::move(writer), false);
    server running(options, std::move(keeps), nullptr, std::move(sockets));
    spdlog::info("listening on {}", url);
    explain(url, database);
    app.start();
    (void)signals.wait();
    running.stop();
    return running.failed() ? 1 : 0;
}

}  // namespace litefeed::server
