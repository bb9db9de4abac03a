#pragma once

#include <boost/system/result.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace litefeed::server {

/// One line of the token file.
struct token {
    std::string text;
    std::uint32_t id =
        0;  ///< the same text keeps it over every reading of the file; 0: not numbered yet
};
using token_list = std::vector<token>;

/// Reads a token file: `read TOKEN` or `admin TOKEN` a line, which may ask for the same as long as nothing here changes
/// anything; blank lines; and comments from a `#` on. Pure. The error is one sentence with the line's number and never a
/// token.
[[nodiscard]] boost::system::result<token_list, std::string> parse_tokens(std::string_view text);

/// The token that is `given`; nullptr when there is none. Its time tells nothing of where they differ: every token is
/// compared to its end.
[[nodiscard]] const token* find_token(const token_list& list, std::string_view given);

[[nodiscard]] bool has_token(const token_list& list, std::uint32_t id);

/// The token file of a running server, read again while it runs. Any thread.
class token_file {
  public:
    /// Throws `cannot` for a file that is missing, no regular file, empty or malformed.
    explicit token_file(std::string path);

    /// The tokens as of now. The file is read at most once a second; while it cannot be taken, the last good tokens
    /// stay and the reason is logged once. One that stays empty for two looks takes all tokens away.
    [[nodiscard]] std::shared_ptr<const token_list> look();

  private:
    void read_again();
    void take(token_list fresh);

    const std::string path_;
    std::mutex mutex_;
    std::shared_ptr<const token_list> tokens_;
    std::string text_;     ///< as read last: compared whole, since a time of change can lie
    std::string trouble_;  ///< told already
    bool empty_before_ = false;
    std::uint32_t last_id_ = 0;
    std::chrono::steady_clock::time_point read_at_;
};

}  // namespace litefeed::server
