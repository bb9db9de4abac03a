#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "core/feed.hpp"
#include "server/column_choice.hpp"

namespace litefeed::server {

/// One thread's feed, opened anew with growing pauses when the file became unusable. One thread at a time, but for
/// `interrupt`.
class source {
  public:
    /// Throws `cannot` when the file cannot be opened and waiting would not help. What passes is waited for.
    source(std::string path, feed_options options, chosen_columns* columns = nullptr);
    /// Opens at the first call.
    struct later {};
    source(later, std::string path, feed_options options, chosen_columns* columns);

    /// Calls `ask` with the feed. While the file is unusable the error is what made it so.
    template <class Ask>
    auto call(Ask&& ask) -> decltype(ask(std::declval<feed&>())) {
        using answer_type = decltype(ask(*feed_));
        if (!feed_ && !reopen()) return answer_type(boost::system::in_place_error, trouble_);
        auto answered = ask(*feed_);
        if (!answered && unusable(answered.error())) {
            lose(answered.error());
        } else if (answered && !is_look<answer_type>) {
            well();
        }
        return answered;
    }

    /// Any thread: `feed::interrupt`, if there is one now.
    void interrupt();

    /// The feed, if the file is usable; never opens. For what is answered without the file (`head`, `newest`).
    [[nodiscard]] feed* ready() { return feed_ ? &*feed_ : nullptr; }

    /// Grows with each opening: what was known of an earlier one must be asked again.
    [[nodiscard]] std::uint64_t openings() const { return openings_; }
    /// Why the file is unusable, in words; empty while it is usable.
    [[nodiscard]] const std::string& trouble() const { return words_; }

  private:
    /// SQLITE_ERROR says something of one statement, and nothing of the file.
    [[nodiscard]] static bool unusable(const error_code& e) {
        return e.category() == sqlite_category() && e.value() != sqlite_statement_error;
    }
    static constexpr int sqlite_statement_error = 1;
    /// A look at whether the file moved proves nothing of what is in it.
    template <class Answer>
    static constexpr bool is_look = std::is_same_v<Answer, result<bool>>;
    [[nodiscard]] feed open() const;
    bool reopen();
    void lose(const error_code&);
    void wait(const error_code& why, const std::string& words, std::chrono::milliseconds longest);
    void tell(const std::string& words);
    void well();
    void take(std::optional<feed> fresh);

    std::string path_;
    feed_options options_;
    chosen_columns* columns_;  // none: all of them
    std::mutex mutex_;         ///< held while the feed comes and goes, not while it is asked
    std::optional<feed> feed_;
    error_code trouble_;
    std::string words_;
    std::uint64_t openings_ = 0;
    std::chrono::milliseconds pause_{0};
    std::chrono::steady_clock::time_point again_at_;
    bool told_ = false;  ///< this one logged the trouble, so it logs its end
};

}  // namespace litefeed::server
