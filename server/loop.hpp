#pragma once

#include <array>
#include <atomic>
#include <boost/intrusive/list.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/answer_cache.hpp"
#include "server/file_watch.hpp"
#include "server/net.hpp"
#include "server/options.hpp"
#include "server/pace.hpp"
#include "server/reads.hpp"
#include "server/stats.hpp"
#include "server/subscribers.hpp"
#include "server/tokens.hpp"
#include "server/waiters.hpp"

namespace litefeed::server {

/// A connection as its loop sees it: something that may have to be told to end. Leaves the list by itself.
class live_session : public boost::intrusive::list_base_hook<
                         boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
  public:
    /// A deadline that has passed ends what the session waits for.
    virtual void expire(steady::time_point now) = 0;
    /// The server stops: between requests there is nothing to wait for.
    virtual void wind_up() = 0;

  protected:
    ~live_session() = default;
};
using session_list =
    boost::intrusive::list<live_session, boost::intrusive::constant_time_size<false>>;

/// What all loops share beside the file; outlives them.
struct shared_parts {
    const server_options* options = nullptr;
    chosen_columns* columns = nullptr;
    read_pool* pool = nullptr;
    keeper_thread* writer = nullptr;  ///< none: read-only
    token_file* tokens = nullptr;     ///< none: everyone may ask
    std::vector<const loop_stats*> stats;
    /// For each loop; who comes beyond it is told that the server is full.
    std::size_t connections_max = 1000;
    /// So many more are accepted to be told; the others wait in the kernel's backlog.
    std::size_t surplus_max = 16;
    std::chrono::system_clock::time_point started;
};

/// One thread's server: its own sockets, its own reader of the file, its own subscribers.
class loop {
  public:
    /// Throws `cannot` when the file cannot be opened and waiting would not help.
    loop(const shared_parts& shared, const feed_options& feed);
    ~loop();
    loop(const loop&) = delete;
    loop& operator=(const loop&) = delete;

    /// Takes over a listening socket. Before `run`.
    void listen_on(int socket, bool v6);
    /// Serves on the calling thread until `stop`.
    void run();
    /// Any thread: no new connections, `bye` to streams, answers to those who wait, and `run` returns within a second.
    void stop();

    // For sessions and handlers, on the loop's thread.
    [[nodiscard]] const shared_parts& shared() const { return shared_; }
    [[nodiscard]] const server_options& options() const { return *shared_.options; }
    [[nodiscard]] reads& reading() { return reads_; }
    [[nodiscard]] subscribers& streams() { return subscribers_; }
    [[nodiscard]] waiters& waiting() { return waiters_; }
    [[nodiscard]] answer_cache& answers() { return answers_; }
    [[nodiscard]] loop_stats& stats() { return stats_; }
    /// Who may ask, as of the last sweep; nullptr: everyone. Stands until the caller suspends.
    [[nodiscard]] const token_list* tokens() const { return tokens_.get(); }
    [[nodiscard]] executor on() { return io_.get_executor(); }
    [[nodiscard]] bool stopping() const { return stopping_; }
    /// More connections than `surplus` over what this loop serves.
    [[nodiscard]] bool full(std::size_t surplus = 0) const;
    /// Looks at the file now and wakes whoever that concerns.
    void look();
    /// Somebody waits from now on: poll fast.
    void listened();
    /// IMF-fixdate, now.
    [[nodiscard]] const std::string& date();
    void enter(live_session&);
    /// Where bytes are read to, by whoever reads now; nothing in it survives a suspension.
    [[nodiscard]] std::array<char, 16 * 1024>& scratch() { return scratch_; }

  private:
    task<void> accept(tcp_acceptor* from);
    void poll();
    void sweep();
    void look_at_tokens();
    void wind_up();

    const shared_parts& shared_;
    session_list sessions_;  // outlives the io_context, whose end unwinds the sessions
    loop_stats stats_;
    asio::io_context io_{1};
    source source_;
    reads reads_;
    answer_cache answers_;
    subscribers subscribers_;
    waiters waiters_;
    std::shared_ptr<const token_list> tokens_;
    std::vector<std::unique_ptr<tcp_acceptor>> acceptors_;
    file_watch watch_;
    pace pace_;
    timer poll_timer_, sweep_timer_, end_timer_;
    std::uint64_t openings_ = 0;
    bool look_again_ = false;
    std::optional<rest_cursor> known_;  ///< of the last look, over all openings of the file
    bool repairing_ = false;            ///< nobody is answered
    bool recording_ = false;            ///< the keeper writes a schema down
    bool stopping_ = false;
    bool someone_listened_ = false;
    std::array<char, 16 * 1024> scratch_{};
    std::string date_;
    std::time_t date_of_ = 0;
};

}  // namespace litefeed::server
