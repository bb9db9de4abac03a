#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "server/feed_request.hpp"
#include "server/heartbeat.hpp"
#include "server/reads.hpp"
#include "server/stats.hpp"
#include "server/subscriber.hpp"

namespace litefeed::server {

/// The subscribers of one kind.
struct subscriber_group : std::enable_shared_from_this<subscriber_group> {
    struct seat {
        std::shared_ptr<subscriber> who;
        heartbeat beat;
    };
    explicit subscriber_group(const stream_kind& kind) : blocks(kind) {}

    shared_blocks blocks;
    std::vector<seat> seats;
    stamp newest;             ///< as of the last ring
    std::uint64_t epoch = 0;  ///< as of the last ring
    bool unanswered = false;  ///< the file was busy: ring again soon
    /// Since when the log knows no table of one of its names; none: it does.
    std::optional<steady::time_point> unknown_since;
    /// Those for whom the pool reads, by the place they stand at.
    std::unordered_map<std::string, std::vector<std::weak_ptr<subscriber>>> asked;
};

/// All streams of one loop. The bell, not a queue: a ring makes each look again from its own place; who is still
/// writing is left alone and gets one larger delta when that is done. Loop thread only.
class subscribers {
  public:
    subscribers(reads& from, loop_stats& stats);

    /// Takes the connection over. `head` is the response header up to, not including, its empty line. `token_id`: of
    /// the token that opened the stream.
    void join(tcp_socket socket, const events_request& want, bool chunked, std::string head,
              std::uint32_t token_id);

    /// After a look at the file: everyone who is behind is told.
    void ring();
    /// The feed was opened anew or begins a new lineage: every place must be proved again.
    void distrust() { ++epoch_; }
    /// Some could not be answered; ring again although nothing moved.
    [[nodiscard]] bool unanswered() const;

    /// Heartbeats, bookmarks and deadlines. A few times a second.
    void sweep();
    /// `bye` to each whom `to` names, then the end. What is still being written is given until `abandon`.
    /// `reason` outlives the set.
    void say_bye(std::string_view reason, const std::function<bool(const subscriber&)>& to);
    void abandon();

    [[nodiscard]] bool empty() const { return count_ == 0; }

    // Called by a subscriber.
    void wrote(subscriber&, subscriber::written);
    void drop(subscriber&);
    void probe(subscriber&);

  private:
    std::shared_ptr<subscriber_group> group_of(const stream_kind&);
    void advance(subscriber&);
    void advance_later(subscriber&);
    bool find_start(subscriber&);
    bool announce(subscriber&);
    block_ptr block_after(subscriber&);
    void ask_pool(subscriber&);
    void told_by_pool(const std::shared_ptr<subscriber_group>&, const place_ptr& from,
                      std::uint64_t epoch, const result<answer>&);
    void hold(subscriber_group&, const error_code& why);
    void send(subscriber&, block_ptr);
    void look_at(subscriber_group::seat&, steady::time_point now);
    bool give_bookmark(subscriber&);
    void give_heartbeat(subscriber&);
    void leave(subscriber&, std::string_view reason);
    void part(subscriber&);
    void bury();
    std::chrono::milliseconds between(int low, int high);
    heartbeat::duration spread();

    reads& from_;
    loop_stats& stats_;
    std::map<stream_kind, std::shared_ptr<subscriber_group>> groups_;
    std::vector<std::shared_ptr<subscriber>> dead_;  ///< out of their seats once nobody iterates
    std::size_t count_ = 0;
    std::uint64_t epoch_ = 1;
    bool iterating_ = false;
    std::optional<stream_kind> lost_at_;  ///< whose reads found the file unusable at the last ring
    steady::time_point again_at_;         ///< earliest ring for those who are unanswered
    std::minstd_rand random_;
};

}  // namespace litefeed::server
