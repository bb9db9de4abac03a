#include "server/answer_cache.hpp"

namespace litefeed::server {
namespace {

// One answer, and all of them with what they answer.
constexpr std::size_t answer_bytes_max = 64 * 1024, bytes_max = 1024 * 1024;

std::string name_of(const request& asked) {
    std::string out;
    out.reserve(asked.target.size() + 1 + asked.accept.size());
    return out.append(asked.target).append(1, '\n').append(asked.accept);
}

}  // namespace

const response* answer_cache::find(const request& asked) const {
    if (answers_.empty()) return nullptr;
    const auto found = answers_.find(name_of(asked));
    return found == answers_.end() ? nullptr : &found->second;
}

void answer_cache::put(const request& asked, const response& answered, std::uint64_t moves_before) {
    if (moves_before != moves_ || answered.body.size() > answer_bytes_max) return;
    auto name = name_of(asked);
    const std::size_t bytes = name.size() + answered.fields.size() + answered.body.size();
    if (bytes_ + bytes > bytes_max) {
        answers_.clear();
        bytes_ = 0;
    }
    if (answers_.try_emplace(std::move(name), answered).second) bytes_ += bytes;
}

void answer_cache::file_moved() {
    ++moves_;
    answers_.clear();
    bytes_ = 0;
}

}  // namespace litefeed::server
