#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
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

/// What the bytes of a stream depend on beside its place.
struct stream_kind {
    selection want;
    bool snapshot = false, named = false;
    bool chunked = true;  ///< HTTP/1.1; else the stream ends with the connection
    friend auto operator<=>(const stream_kind&, const stream_kind&) = default;
};

/// The subscribers of one kind, and what was rendered for them since the last look at the file.
struct subscriber_group : std::enable_shared_from_this<subscriber_group> {
    struct seat {
        std::shared_ptr<subscriber> who;
        heartbeat beat;
    };
    stream_kind kind;
    std::vector<seat> seats;
    stamp newest;                                       ///< as of the last ring
    std::uint64_t epoch = 0;                            ///< as of the last ring
    bool unanswered = false;                            ///< the file was busy: ring again soon
    std::unordered_map<std::string, block_ptr> blocks;  ///< by the place they start from
    std::size_t block_bytes = 0;
    place_ptr last_from;  ///< most stand at one place: found without hashing
    block_ptr last_block;
    block_ptr comment, bookmark;
    std::unordered_map<std::string, std::vector<std::weak_ptr<subscriber>>>
        asked;  ///< the pool reads
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
    void say_bye(std::string_view reason, const std::function<bool(const subscriber&)>& to);
    void abandon();

    [[nodiscard]] bool empty() const { return count_ == 0; }
    [[nodiscard]] std::size_t size() const { return count_; }

    // Called by a subscriber.
    void wrote(subscriber&, subscriber::written);
    void drop(subscriber&);
    void probe(subscriber&);

  private:
    std::shared_ptr<subscriber_group> group_of(const stream_kind&);
    void advance(subscriber&);
    void advance_later(subscriber&);
    bool announce(subscriber&);
    block_ptr block_after(subscriber&);
    block_ptr render(subscriber_group&, const place_ptr& from, const answer&, std::uint64_t epoch);
    void keep(subscriber_group&, const place_ptr& from, block_ptr);
    void ask_pool(subscriber&, const question&);
    void told_by_pool(const std::shared_ptr<subscriber_group>&, const place_ptr& from,
                      std::uint64_t epoch, const result<answer>&);
    void send(subscriber&, block_ptr);
    void look_at(subscriber_group::seat&, steady::time_point now);
    bool give_bookmark(subscriber&);
    void give_heartbeat(subscriber&);
    void part(subscriber&);
    void forget_blocks(subscriber_group&);
    void bury();
    [[nodiscard]] question ask_from(const subscriber_group&, const place&) const;
    std::chrono::milliseconds between(int low, int high);
    heartbeat::duration spread();

    reads& from_;
    loop_stats& stats_;
    std::map<stream_kind, std::shared_ptr<subscriber_group>> groups_;
    std::vector<std::shared_ptr<subscriber>> dead_;  ///< out of their seats once nobody iterates
    std::size_t count_ = 0;
    std::uint64_t epoch_ = 1;
    bool iterating_ = false;
    steady::time_point again_at_;  ///< earliest ring for those who are unanswered
    std::string bye_reason_;
    std::minstd_rand random_;
};

}  // namespace litefeed::server
