#include "server/answer_cache.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace litefeed::server;

namespace {

request asking(const std::string& target, const std::string& accept = "*/*") {
    request out;
    out.target = target;
    out.accept = accept;
    return out;
}

response saying(std::string body) {
    response out;
    out.body = std::move(body);
    return out;
}

}  // namespace

TEST_SUITE_BEGIN("server/answer_cache");

TEST_CASE("an answer is given again to the same target and Accept, until the file moves") {
    answer_cache answers;
    CHECK(answers.find(asking("/changes?since=1")) == nullptr);
    answers.put(asking("/changes?since=1"), saying("one"), answers.moves());
    REQUIRE(answers.find(asking("/changes?since=1")) != nullptr);
    CHECK(answers.find(asking("/changes?since=1"))->body == "one");
    CHECK(answers.find(asking("/changes?since=2")) == nullptr);
    CHECK(answers.find(asking("/changes?since=1", "application/x-ndjson")) == nullptr);
    answers.file_moved();
    CHECK(answers.find(asking("/changes?since=1")) == nullptr);
}

TEST_CASE("an answer that was read before the file moved is not kept") {
    answer_cache answers;
    const auto before = answers.moves();
    answers.file_moved();
    answers.put(asking("/changes?since=1"), saying("old"), before);
    CHECK(answers.find(asking("/changes?since=1")) == nullptr);
}

TEST_CASE("neither one large answer nor many small ones take more than a megabyte") {
    answer_cache answers;
    answers.put(asking("/large"), saying(std::string(65 * 1024, 'x')), answers.moves());
    CHECK(answers.find(asking("/large")) == nullptr);
    std::size_t kept = 0;
    for (int i = 0; i < 100; ++i)
        answers.put(asking("/" + std::to_string(i)), saying(std::string(60 * 1024, 'x')),
                    answers.moves());
    for (int i = 0; i < 100; ++i) kept += answers.find(asking("/" + std::to_string(i))) != nullptr;
    CHECK(kept > 0);
    CHECK(kept * 60 < 1024);
    CHECK(answers.find(asking("/99")) != nullptr);
}

TEST_SUITE_END();
