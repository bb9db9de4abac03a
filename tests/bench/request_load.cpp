// Asks one URL again and again over kept connections, one request at a time on each, and says what an answer took and what
// the server worked for it. With --each-its-own no two requests are the same text. Prints one JSON object.
// usage: request_load --help
#include <sys/epoll.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <stdexcept>

#include "tests/bench/loopback.hpp"

namespace {

using namespace bench;

struct settings {
    int port = 0;
    std::string path = "/";
    bool each_its_own = false;
    int connections = 16;
    double seconds = 2;
    std::vector<int> pids;
};

// One connection. Answers must carry Content-Length; whatever else is an error, told by throwing.
class asker {
  public:
    explicit asker(int port) : socket_(connect_to(port)) {}

    [[nodiscard]] int fd() const { return socket_.get(); }

    void ask(const std::string& request) {
        began_us_ = now_us();
        received_ = 0;
        whole_ = 0;
        head_.clear();
        send_all(fd(), request);
    }

    // Reads what is there. True when the answer is complete.
    bool read() {
        std::array<char, 65536> bytes{};
        const ssize_t got = recv(fd(), bytes.data(), bytes.size(), MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
        if (got <= 0) throw std::runtime_error("the server closed a connection");
        received_ += static_cast<std::size_t>(got);
        if (whole_ == 0) {
            head_.append(bytes.data(), static_cast<std::size_t>(got));
            const auto end = head_.find("\r\n\r\n");
            if (end == std::string::npos) return false;
            if (head_.compare(9, 3, "200") != 0) {
                throw std::runtime_error("answered " + head_.substr(0, head_.find('\r')));
            }
            whole_ = end + 4 + content_length(end);
        }
        return received_ == whole_;
    }

    [[nodiscard]] double took_us() const { return now_us() - began_us_; }
    [[nodiscard]] std::size_t bytes() const { return whole_; }

  private:
    [[nodiscard]] std::size_t content_length(std::size_t end) const {
        std::string lower = head_.substr(0, end);
        for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
        const auto at = lower.find("\r\ncontent-length:");
        if (at == std::string::npos) throw std::runtime_error("an answer without a length");
        return std::stoul(lower.substr(at + 17));
    }

    descriptor socket_;
    std::string head_;
    std::size_t received_ = 0, whole_ = 0;
    double began_us_ = 0;
};

nlohmann::json run(const settings& how) {
    long asked = 0;
    const auto next_request = [&] {
        // litefeed reads past names that begin with "_".
        const char* joint = how.path.find('?') == std::string::npos ? "?_=" : "&_=";
        const std::string own = how.each_its_own ? joint + std::to_string(++asked) : std::string();
        return "GET " + how.path + own + " HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n";
    };
    const descriptor epoll(epoll_create1(EPOLL_CLOEXEC));
    std::vector<asker> askers;
    for (int i = 0; i < how.connections; ++i) {
        askers.emplace_back(how.port);
        epoll_event want{};
        want.events = EPOLLIN;
        want.data.u64 = static_cast<std::uint64_t>(i);
        epoll_ctl(epoll.get(), EPOLL_CTL_ADD, askers.back().fd(), &want);
    }
    std::vector<double> took;
    std::size_t bytes = 0;
    const auto play = [&](double seconds) {
        const double until = now_us() + seconds * 1e6;
        std::size_t open = askers.size();
        for (asker& a : askers) a.ask(next_request());
        while (open > 0) {
            std::array<epoll_event, 64> ready{};
            const int count = epoll_wait(epoll.get(), ready.data(), ready.size(), 5000);
            if (count == 0) throw std::runtime_error("no answer for five seconds");
            for (int i = 0; i < count; ++i) {
                asker& a = askers[ready[static_cast<std::size_t>(i)].data.u64];
                if (!a.read()) continue;
                took.push_back(a.took_us());
                bytes = a.bytes();
                if (now_us() < until) {
                    a.ask(next_request());
                } else {
                    --open;
                }
            }
        }
    };
    play(0.1);
    took.clear();
    const double cpu = cpu_us(how.pids);
    const double begin = now_us();
    play(how.seconds);
    const double worked = cpu_us(how.pids) - cpu;
    const auto requests = static_cast<double>(took.size());
    return {{"requests", took.size()},
            {"per_second", requests / (now_us() - begin) * 1e6},
            {"median_us", quantile(took, 0.5)},
            {"p99_us", quantile(took, 0.99)},
            {"bytes", bytes},
            {"cpu_us_per_request", worked / requests}};
}

}  // namespace

int main(int argc, char** argv) {
    settings how;
    CLI::App app("One URL, again and again: what does an answer cost the server?");
    app.add_option("--port", how.port, "The server's port on 127.0.0.1")->required();
    app.add_option("--path", how.path, "What to ask for")->capture_default_str();
    app.add_flag("--each-its-own", how.each_its_own, "Make every request a text of its own");
    app.add_option("--connections", how.connections, "Kept open")->check(CLI::Range(1, 10'000));
    app.add_option("--seconds", how.seconds, "How long")->check(CLI::Range(0.1, 600.0));
    app.add_option("--pid", how.pids, "The server's process; may be repeated")
        ->allow_extra_args(false);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        return app.exit(e) == 0 ? 0 : 2;
    }
    try {
        raise_descriptor_limit();
        std::cout << run(how).dump() << "\n";
    } catch (const std::exception& e) {
        std::cerr << "request_load: " << e.what() << "\n";
        return 1;
    }
}
