#include "server/file_watch.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

using namespace litefeed::server;

namespace {

class directory {
  public:
    directory() {
        std::string name = (std::filesystem::temp_directory_path() / "litefeed-XXXXXX").string();
        REQUIRE(mkdtemp(name.data()) != nullptr);
        path_ = name;
    }
    ~directory() { std::filesystem::remove_all(path_); }
    [[nodiscard]] std::string file(const char* name) const { return path_ + "/" + name; }
    void append(const char* name) const { std::ofstream(file(name), std::ios::app) << "x"; }

  private:
    std::string path_;
};

}  // namespace

TEST_SUITE_BEGIN("server/file_watch");

TEST_CASE("writes of the database and its -wal are told once, whatever name the file is asked by") {
    const directory here;
    here.append("a.db");
    here.append("a.db-wal");
    std::filesystem::create_symlink(here.file("a.db"), here.file("link.db"));
    asio::io_context io;
    file_watch watch(io.get_executor(), here.file("link.db"));
    CHECK(watch.stands());
    CHECK_FALSE(watch.drain());
    for (const char* name : {"a.db", "a.db-wal"}) {
        int told = 0;
        watch.wait([&] { ++told; });
        io.restart();
        io.poll();
        CHECK(told == 0);
        here.append(name);
        here.append(name);
        io.restart();
        io.run_for(std::chrono::seconds(5));
        CHECK(told == 1);
        CHECK(watch.drain());
        CHECK_FALSE(watch.drain());
    }
}

TEST_CASE("a -wal that came later is watched once the watch is renewed") {
    const directory here;
    here.append("a.db");
    asio::io_context io;
    file_watch watch(io.get_executor(), here.file("a.db"));
    here.append("a.db-wal");
    CHECK_FALSE(watch.drain());
    watch.renew();
    here.append("a.db-wal");
    CHECK(watch.drain());
}

TEST_CASE("without the file nothing is watched, and nothing waits after the end") {
    const directory here;
    asio::io_context io;
    file_watch watch(io.get_executor(), here.file("none.db"));
    CHECK_FALSE(watch.stands());
    watch.wait([] { FAIL("nothing was written"); });
    watch.close();
    io.run();
    CHECK_FALSE(watch.drain());
}

TEST_SUITE_END();
