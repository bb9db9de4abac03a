#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "core/feed.hpp"

namespace litefeed::server {

/// One thread's feed, opened anew with growing pauses when the file became unusable. One thread at a time.
class source {
  public:
    /// Throws `cannot` when the file cannot be opened now.
    source(std::string path, feed_options options);

    /// Calls `ask` with the feed. While the file is unusable the error is what made it so.
    template <class Ask>
    auto call(Ask&& ask) -> decltype(ask(std::declval<feed&>())) {
        using answer_type = decltype(ask(*feed_));
        if (!feed_ && !reopen()) return answer_type(boost::system::in_place_error, trouble_);
        auto answered = ask(*feed_);
        if (!answered && unusable(answered.error())) lose(answered.error());
        return answered;
    }

    /// The feed, if the file is usable; never opens. For what is answered without the file (`head`, `newest`).
    [[nodiscard]] feed* ready() { return feed_ ? &*feed_ : nullptr; }

    /// Grows with each opening: what was known of an earlier one must be asked again.
    [[nodiscard]] std::uint64_t openings() const { return openings_; }
    /// Why the file is unusable, in words; empty while it is usable.
    [[nodiscard]] const std::string& trouble() const { return words_; }
    [[nodiscard]] const std::string& path() const { return path_; }

  private:
    [[nodiscard]] static bool unusable(const error_code& e) {
        return e.category() == sqlite_category();
    }
    bool reopen();
    void lose(const error_code&);

    std::string path_;
    feed_options options_;
    std::optional<feed> feed_;
    error_code trouble_;
    std::string words_;
    std::uint64_t openings_ = 0;
    std::chrono::milliseconds pause_{0};
    std::chrono::steady_clock::time_point again_at_;
};

}  // namespace litefeed::server
