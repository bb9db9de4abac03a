#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/feed.hpp"
#include "server/step.hpp"

namespace litefeed::server {

using place_ptr = std::shared_ptr<const place>;

/// Bytes for a stream, rendered once for all who stand at the same place, and the place they lead to.
struct block {
    std::string bytes;
    place_ptr then;  ///< none: the place does not move
};
using block_ptr = std::shared_ptr<const block>;

/// What the bytes of a stream depend on beside its place.
struct stream_kind {
    selection want;
    bool snapshot = false, named = false;
    bool chunked = true;  ///< HTTP/1.1; else the stream ends with the connection
    friend auto operator<=>(const stream_kind&, const stream_kind&) = default;
};

/// Every byte that streams of one kind are told, and what was rendered for them since the last look at the file. Knows
/// neither sockets nor the file: it is given what the feed answered. One thread.
class shared_blocks {
  public:
    explicit shared_blocks(stream_kind kind) : kind_(std::move(kind)) {}
    [[nodiscard]] const stream_kind& kind() const { return kind_; }

    /// What is asked for those who stand at `from`: one page, of any effort.
    [[nodiscard]] question ask_from(const place& from) const;
    /// What leads on from `from`. Empty bytes: there is nothing to tell, and the place moves all the same. `epoch`: the
    /// feed's when it was asked; an answer from a history that ended meanwhile settles nothing.
    [[nodiscard]] block_ptr render(const place_ptr& from, const answer& a,
                                   std::uint64_t epoch) const;

    /// Keeps it for all who stand there, until `forget`.
    void keep(const place_ptr& from, block_ptr leads_on);
    /// What was kept for `from`; none when nothing was.
    [[nodiscard]] block_ptr find(const place_ptr& from) const;
    /// After a look at the file: what leads on from a place may be another by now.
    void forget();

    /// The beginning of a stream, with the place that it starts from; `start` may be none, and is then announced later.
    [[nodiscard]] std::string hello(std::chrono::milliseconds retry, const place* start,
                                    stamp head) const;
    /// The place that a stream starts from, once that is known.
    [[nodiscard]] block_ptr announcement(const place& start, stamp head) const;
    /// The head as a place to go on from; the same for all until `forget`.
    [[nodiscard]] block_ptr bookmark(const rest_cursor& here, std::uint64_t epoch);
    [[nodiscard]] block_ptr comment();
    [[nodiscard]] block_ptr heartbeat(stamp head) const;
    /// The end: nothing follows it.
    [[nodiscard]] block_ptr bye(std::string_view reason, std::chrono::milliseconds retry) const;

  private:
    [[nodiscard]] std::string framed(std::string text) const;
    [[nodiscard]] block_ptr make(std::string text, place_ptr then = nullptr) const;

    const stream_kind kind_;
    std::unordered_map<std::string, block_ptr> kept_;  ///< by the place they start from
    std::size_t kept_bytes_ = 0;
    place_ptr last_from_;  ///< most stand at one place: found without hashing
    block_ptr last_, comment_, bookmark_;
};

}  // namespace litefeed::server
