// Opens event streams, makes one change at a time and times when the first and the last stream have it.
// The change is a commit to a watched file (t=0 is the return of COMMIT) or, for servers that are
// published to, a POST (t=0 is before it is sent). Prints one JSON object.
// usage: stream_load --help
#include <sqlite3.h>
#include <sys/epoll.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <random>
#include <stdexcept>

#include "tests/bench/loopback.hpp"

namespace {

using namespace bench;

struct settings {
    int port = 0;
    std::string path = "/events";
    int subscribers = 1;
    int rounds = 9;
    int warm = 1;  // rounds that are not reported
    int settle_ms = 200;
    int timeout_ms = 30'000;
    int idle_ms = 0;
    std::string database, sql, publish_path, body;
    std::vector<int> pids;
};

// Counts the events with data of one stream, as a browser would dispatch them, without keeping what it
// read: chunk framing is taken off, `event: cursor` and other named events are not counted.
class event_counter {
  public:
    int take(std::string_view bytes) {
        int events = 0;
        for (const char c : bytes) {
            if (where_ != in::body || !chunked_) {
                frame(c, events);
            } else if (left_-- > 0) {
                line(c, events);
                if (left_ == 0) where_ = in::chunk_end;
            }
        }
        return events;
    }

    [[nodiscard]] bool refused() const { return refused_; }

  private:
    enum class in : std::uint8_t { status, head, size, body, chunk_end };

    void frame(char c, int& events) {
        switch (where_) {
            case in::status:
                if (++seen_ == 10 && c != '2') refused_ = true;  // HTTP/1.1 2
                if (c == '\n') start(in::head);
                break;
            case in::head:
                header(c);
                break;
            case in::size:
                if (c == '\n') {
                    where_ = in::body;
                } else if (const int digit = hex(c); digit >= 0) {
                    left_ = left_ * 16 + static_cast<std::uint32_t>(digit);
                }
                break;
            case in::chunk_end:
                if (c == '\n') {
                    where_ = in::size;
                    left_ = 0;
                }
                break;
            case in::body:
                line(c, events);
                break;
        }
    }

    // Of the header only whether it says chunked, which nothing else in it does.
    void header(char c) {
        static constexpr std::string_view word = "chunked";
        const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
        match_ = lower == word[match_] ? match_ + 1 : (lower == word[0] ? 1 : 0);
        if (match_ == word.size()) {
            chunked_ = true;
            match_ = 0;
        }
        if (c == '\n') {
            if (seen_ == 0) {
                where_ = chunked_ ? in::size : in::body;
                left_ = 0;
            }
            seen_ = 0;
        } else if (c != '\r') {
            ++seen_;
        }
    }

    void line(char c, int& events) {
        if (c == '\r') return;
        if (c != '\n') {
            if (seen_ < 5) name_[seen_] = c;
            if (seen_ < 255) ++seen_;
            return;
        }
        const std::string_view name(name_.data(), std::min<std::size_t>(seen_, 5));
        if (seen_ == 0) {
            if (data_ && !named_) ++events;
            data_ = named_ = false;
        } else if (name == "data:") {
            data_ = true;
        } else if (name == "event") {
            named_ = true;
        }
        seen_ = 0;
    }

    static int hex(char c) {
        if (c >= '0' && c <= '9') return c - '0';
        if (c >= 'a' && c <= 'f') return c - 'a' + 10;
        return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
    }

    void start(in next) {
        where_ = next;
        seen_ = 0;
    }

    in where_ = in::status;
    bool chunked_ = false, data_ = false, named_ = false, refused_ = false;
    std::uint8_t seen_ = 0;
    std::uint8_t match_ = 0;
    std::uint32_t left_ = 0;
    std::array<char, 5> name_{};
};

struct stream {
    descriptor socket;
    event_counter counter;
    int events = 0;  // in all
    bool heard = false;
};

// Makes the change of a round.
class changer {
  public:
    virtual ~changer() = default;
    // Returns t=0.
    virtual double change(int round) = 0;
};

class committer : public changer {
  public:
    committer(const std::string& file, const std::string& sql) {
        if (sqlite3_open_v2(file.c_str(), &db_, SQLITE_OPEN_READWRITE, nullptr) != SQLITE_OK ||
            sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement_, nullptr) != SQLITE_OK) {
            throw std::runtime_error(file + ": " + sqlite3_errmsg(db_));
        }
        sqlite3_busy_timeout(db_, 5000);
    }
    ~committer() override {
        sqlite3_finalize(statement_);
        sqlite3_close(db_);
    }
    committer(const committer&) = delete;
    committer& operator=(const committer&) = delete;

    double change(int round) override {
        sqlite3_bind_int(statement_, 1, round);
        if (sqlite3_step(statement_) != SQLITE_DONE) throw std::runtime_error(sqlite3_errmsg(db_));
        const double done = now_us();
        sqlite3_reset(statement_);
        return done;
    }

  private:
    sqlite3* db_ = nullptr;
    sqlite3_stmt* statement_ = nullptr;
};

class publisher : public changer {
  public:
    publisher(int port, std::string path, std::string body)
        : path_(std::move(path)), body_(std::move(body)), socket_(connect_to(port)) {}

    double change(int round) override {
        std::string body = std::to_string(round) + " " + body_;
        body.resize(body_.size(), ' ');
        const std::string request = "POST " + path_ +
                                    " HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
                                    "Content-Length: " +
                                    std::to_string(body.size()) + "\r\n\r\n" + body;
        std::array<char, 4096> answer{};
        while (recv(socket_.get(), answer.data(), answer.size(), MSG_DONTWAIT) > 0) {
        }
        const double begin = now_us();
        send_all(socket_.get(), request);
        return begin;
    }

  private:
    std::string path_, body_;
    descriptor socket_;
};

class load {
  public:
    explicit load(settings how) : how_(std::move(how)), epoll_(epoll_create1(EPOLL_CLOEXEC)) {
        if (!how_.database.empty()) {
            changer_ = std::make_unique<committer>(how_.database, how_.sql);
        } else {
            changer_ = std::make_unique<publisher>(how_.port, how_.publish_path, how_.body);
        }
    }

    nlohmann::json run() {
        nlohmann::json out{{"subscribers", how_.subscribers}};
        const double resident_before = resident_kb(how_.pids);
        const double begin = now_us();
        connect_all();
        out["connect_s"] = (now_us() - begin) / 1e6;
        settle();
        out["resident_kb_each"] = (resident_kb(how_.pids) - resident_before) / how_.subscribers;
        if (how_.idle_ms > 0) {
            const double cpu = cpu_us(how_.pids);
            const double from = now_us();
            read_for(how_.idle_ms);
            out["idle_core_percent"] = (cpu_us(how_.pids) - cpu) / (now_us() - from) * 100;
        }
        std::vector<double> first, last, cpu;
        for (int round = 0; round < how_.warm + how_.rounds; ++round) {
            const auto one = play(round);
            settle();
            if (round < how_.warm) continue;
            first.push_back(one.first_ms);
            last.push_back(one.last_ms);
            cpu.push_back((one.cpu_us) / how_.subscribers);
        }
        out["first_ms"] = summary(first);
        out["last_ms"] = summary(last);
        out["cpu_us_per_event"] = summary(cpu);
        out["resident_kb_each_after"] =
            (resident_kb(how_.pids) - resident_before) / how_.subscribers;
        out["extra_events"] = extra_;
        return out;
    }

  private:
    struct round_times {
        double first_ms = 0, last_ms = 0, cpu_us = 0;
    };

    static nlohmann::json summary(const std::vector<double>& of) {
        return {{"min", quantile(of, 0)},
                {"median", quantile(of, 0.5)},
                {"p99", quantile(of, 0.99)},
                {"max", quantile(of, 1)}};
    }

    void connect_all() {
        const std::string request = "GET " + how_.path +
                                    " HTTP/1.1\r\nHost: localhost\r\n"
                                    "Accept: text/event-stream\r\n\r\n";
        streams_.resize(static_cast<std::size_t>(how_.subscribers));
        for (std::size_t i = 0; i < streams_.size(); ++i) {
            streams_[i].socket = connect_to(how_.port, 1 + i / 20'000);
            send_all(streams_[i].socket.get(), request);
            make_nonblocking(streams_[i].socket.get());
            epoll_event want{};
            want.events = EPOLLIN | EPOLLET;
            want.data.u64 = i;
            if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, streams_[i].socket.get(), &want) < 0) {
                fail("epoll_ctl");
            }
            if (i % 64 == 63) read_ready(0);
        }
        // Each has its header once it has said anything.
        const double until = now_us() + how_.timeout_ms * 1e3;
        while (heard_ < streams_.size()) {
            if (now_us() > until) throw std::runtime_error("not every stream was answered");
            read_ready(100);
        }
    }

    round_times play(int round) {
        expected_ = round + 1;
        missing_ = streams_.size();
        first_us_ = 0;
        const double cpu = cpu_us(how_.pids);
        const double begin = changer_->change(round);
        while (missing_ > 0) {
            if (now_us() - begin > how_.timeout_ms * 1e3) {
                throw std::runtime_error(std::to_string(missing_) +
                                         " streams heard nothing of round " +
                                         std::to_string(round));
            }
            read_ready(100);
        }
        const double end = now_us();
        // What the server does after the last byte is part of the price.
        read_for(20);
        return {(first_us_ - begin) / 1e3, (end - begin) / 1e3, cpu_us(how_.pids) - cpu};
    }

    void settle() {
        const int wait = how_.settle_ms;
        read_for(wait + (wait > 1 ? static_cast<int>(random_() % static_cast<unsigned>(wait)) : 0));
    }

    void read_for(int ms) {
        const double until = now_us() + ms * 1e3;
        for (double left = ms * 1e3; left > 0; left = until - now_us()) {
            read_ready(static_cast<int>(left / 1e3) + 1);
        }
    }

    void read_ready(int wait_ms) {
        std::array<epoll_event, 256> ready{};
        const int count = epoll_wait(epoll_.get(), ready.data(), ready.size(), wait_ms);
        for (int i = 0; i < count; ++i) read(streams_[ready[static_cast<std::size_t>(i)].data.u64]);
    }

    void read(stream& s) {
        for (;;) {
            const ssize_t got = recv(s.socket.get(), buffer_.data(), buffer_.size(), 0);
            if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
            if (got <= 0) throw std::runtime_error("the server ended a stream");
            if (first_us_ == 0) first_us_ = now_us();
            if (!std::exchange(s.heard, true)) ++heard_;
            const int events = s.counter.take({buffer_.data(), static_cast<std::size_t>(got)});
            if (s.counter.refused()) throw std::runtime_error("the server refused a stream");
            for (int e = 0; e < events; ++e) {
                if (++s.events == expected_) {
                    --missing_;
                } else {
                    ++extra_;
                }
            }
            if (static_cast<std::size_t>(got) < buffer_.size()) return;
        }
    }

    settings how_;
    descriptor epoll_;
    std::unique_ptr<changer> changer_;
    std::vector<stream> streams_;
    std::size_t heard_ = 0, missing_ = 0;
    int expected_ = 0, extra_ = 0;
    double first_us_ = 0;
    std::array<char, 65536> buffer_{};
    std::minstd_rand random_{1};
};

}  // namespace

int main(int argc, char** argv) {
    settings how;
    CLI::App app("Event streams and one change at a time: when do the first and the last have it?");
    app.add_option("--port", how.port, "The server's port on 127.0.0.1")->required();
    app.add_option("--path", how.path, "What to follow")->capture_default_str();
    app.add_option("--subscribers", how.subscribers, "Streams")->check(CLI::Range(1, 500'000));
    app.add_option("--rounds", how.rounds, "Changes")->check(CLI::Range(1, 100'000));
    app.add_option("--warm", how.warm, "Changes before them that are not reported")
        ->check(CLI::Range(0, 1000));
    app.add_option("--settle", how.settle_ms, "ms between two changes; up to twice as long");
    app.add_option("--idle", how.idle_ms, "First watch the idle server's CPU for so many ms");
    app.add_option("--timeout", how.timeout_ms, "ms until a round fails")->capture_default_str();
    auto* database = app.add_option("--database", how.database, "The watched file");
    app.add_option("--sql", how.sql, "The change; ?1 is the round")->needs(database);
    app.add_option("--publish", how.publish_path, "POST here instead")->excludes(database);
    app.add_option("--body", how.body, "What to post; the round's number is put before it");
    app.add_option("--pid", how.pids, "The server's process; may be repeated")
        ->allow_extra_args(false);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        return app.exit(e) == 0 ? 0 : 2;
    }
    try {
        raise_descriptor_limit();
        std::cout << load(how).run().dump() << "\n";
    } catch (const std::exception& e) {
        std::cerr << "stream_load: " << e.what() << "\n";
        return 1;
    }
}
