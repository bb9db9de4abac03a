#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "server/request.hpp"
#include "server/response.hpp"

namespace litefeed::server {

/// Answers to /changes as they were sent, for as long as the file stands still: who polls mostly asks what another asked a
/// moment ago, from the same place. One loop's; bounded; emptied by each look that finds the file moved.
class answer_cache {
  public:
    /// The answer to the same target and `Accept`, as of the loop's last look; none when it is not here.
    [[nodiscard]] const response* find(const request& asked) const;

    /// Counts how often the file moved. Taken before an answer is read, it tells `put` whether the answer still holds.
    [[nodiscard]] std::uint64_t moves() const { return moves_; }
    void put(const request& asked, const response& answered, std::uint64_t moves_before);

    void file_moved();

  private:
    std::unordered_map<std::string, response> answers_;
    std::size_t bytes_ = 0;
    std::uint64_t moves_ = 0;
};

}  // namespace litefeed::server
