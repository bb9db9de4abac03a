#include "server/tokens.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "core/errc.hpp"

using namespace litefeed;
using namespace litefeed::server;

namespace {

const std::string one = "0123456789abcdef", other = "fedcba9876543210";

std::string refusal(std::string_view text) {
    const auto read = parse_tokens(text);
    return read ? "" : read.error();
}

bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

struct own_directory {
    own_directory() {
        auto name = (std::filesystem::temp_directory_path() / "litefeed-tokens-XXXXXX").string();
        REQUIRE(::mkdtemp(name.data()) != nullptr);
        path = name;
    }
    ~own_directory() { std::filesystem::remove_all(path); }
    [[nodiscard]] std::string write(std::string_view text) const {
        const auto file = path / "tokens";
        std::ofstream(file) << text;
        ::chmod(file.c_str(), 0600);
        return file.string();
    }
    std::filesystem::path path;
};

void wait_for_the_next_look() { std::this_thread::sleep_for(std::chrono::milliseconds(1050)); }

}  // namespace

TEST_SUITE_BEGIN("server/tokens");

TEST_CASE("a line is a role and a token; blank lines and comments are skipped") {
    const auto read =
        parse_tokens("# ours\n\nread " + one + "\n \t admin\t" + other + "==  # Eve\r\n#read x");
    REQUIRE(read.has_value());
    REQUIRE(read->size() == 2);
    CHECK((*read)[0].text == one);
    CHECK((*read)[1].text == other + "==");
}

TEST_CASE("the last line needs no end") { CHECK(parse_tokens("read " + one)->size() == 1); }

TEST_CASE("an error names the line and never the token") {
    const std::string secret = "geheimgeheimgeheim";
    const std::vector<std::string> wrong{secret,
                                         "Read " + secret,
                                         "write " + secret,
                                         "read " + secret + " x",
                                         "read",
                                         "read " + secret + "!",
                                         "read \"" + secret + "\"",
                                         "read =" + secret,
                                         "read " + secret + "=x",
                                         "read geheim",
                                         "read " + secret + "\xc3\xa4",
                                         "read " + std::string(513, 'g')};
    for (const auto& line : wrong) {
        const auto why = refusal("read " + one + "\n# x\n" + line + "\nread " + other);
        CHECK_MESSAGE(why.starts_with("line 3: "), line);
        CHECK_FALSE_MESSAGE(contains(why, "geheim"), line);
    }
}

TEST_CASE("a token has 16 to 512 characters, and the error says why") {
    CHECK(refusal("read " + std::string(16, 'a')).empty());
    CHECK(contains(refusal("read " + std::string(15, 'a')), "guessed"));
    CHECK(refusal("read " + std::string(512, 'a')).empty());
    CHECK(contains(refusal("read " + std::string(513, 'a')), "at most 512"));
}

TEST_CASE("a token that comes twice is refused by both lines") {
    CHECK(
        contains(refusal("read " + one + "\nadmin " + one), "line 2: this token stands on line 1"));
}

TEST_CASE("a text may hold no token") {
    for (const auto* text : {"", "\n\n", "# read 0123456789abcdef\n"})
        CHECK(parse_tokens(text)->empty());
}

TEST_CASE("a token is found by all of it") {
    const auto list = *parse_tokens("read " + one + "\nadmin " + other);
    REQUIRE(find_token(list, other) != nullptr);
    CHECK(find_token(list, one) == &list[0]);
    for (const auto& given : {std::string(), one.substr(1), one.substr(0, 15), one + "0",
                              "1" + one.substr(1), one.substr(0, 15) + "e"})
        CHECK_MESSAGE(find_token(list, given) == nullptr, given);
}

TEST_CASE("a file that cannot be a token file is refused at start") {
    const own_directory home;
    CHECK_THROWS_WITH_AS(token_file((home.path / "none").string()),
                         doctest::Contains("No such file"), cannot);
    CHECK_THROWS_WITH_AS(token_file(home.path.string()), doctest::Contains("no regular file"),
                         cannot);
    CHECK_THROWS_WITH_AS(token_file(home.write("")), doctest::Contains("no token"), cannot);
    CHECK_THROWS_WITH_AS(token_file(home.write("read x")), doctest::Contains("line 1"), cannot);
    CHECK_THROWS_WITH_AS(token_file(home.write(std::string(65 * 1024, '\n') + "read " + one)),
                         doctest::Contains("longer"), cannot);
    const auto pipe = (home.path / "pipe").string();
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    CHECK_THROWS_WITH_AS(token_file{pipe}, doctest::Contains("no regular file"), cannot);
}

TEST_CASE("a token that stays keeps its number, a new one gets a new one") {
    const own_directory home;
    token_file file(home.write("read " + one + "\n"));
    const auto before = file.look();
    REQUIRE(before->size() == 1);
    (void)home.write("admin " + other + "\nadmin " + one + "\n");
    CHECK(file.look() == before);  // at most once a second
    wait_for_the_next_look();
    const auto after = file.look();
    REQUIRE(after->size() == 2);
    CHECK((*after)[1].id == (*before)[0].id);
    CHECK((*after)[0].id != (*before)[0].id);
    CHECK(has_token(*after, (*before)[0].id));
    (void)home.write("read " + other + "\n");
    wait_for_the_next_look();
    CHECK_FALSE(has_token(*file.look(), (*before)[0].id));
}

TEST_CASE("while the file is broken or gone the tokens from before stay") {
    const own_directory home;
    token_file file(home.write("read " + one + "\n"));
    const auto before = file.look();
    (void)home.write("read short\n");
    wait_for_the_next_look();
    CHECK(file.look() == before);
    std::filesystem::remove(home.path / "tokens");
    wait_for_the_next_look();
    CHECK(file.look() == before);
    (void)home.write("read " + other + "\n");
    wait_for_the_next_look();
    CHECK(file.look()->front().text == other);
}

TEST_CASE("a file that stays empty takes every token away, one that is being written does not") {
    const own_directory home;
    token_file file(home.write("read " + one + "\n"));
    const auto before = file.look();
    (void)home.write("");
    wait_for_the_next_look();
    CHECK(file.look() == before);
    (void)home.write("read " + one + "\n# still\n");
    wait_for_the_next_look();
    CHECK(has_token(*file.look(), before->front().id));
    (void)home.write("# none\n");
    wait_for_the_next_look();
    CHECK(has_token(*file.look(), before->front().id));
    wait_for_the_next_look();
    CHECK(file.look()->empty());
    (void)home.write("read " + one + "\n");
    wait_for_the_next_look();
    CHECK(file.look()->front().text == one);
}

TEST_SUITE_END();
