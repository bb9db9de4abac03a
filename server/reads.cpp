#include "server/reads.hpp"

namespace litefeed::server {

void reads::repair(std::function<void()> after) {
    after_repair_.push_back(std::move(after));
    if (repairing_) return;
    if (writer_ == nullptr) {
        asio::post(on_, [now = std::move(after_repair_)] {
            for (const auto& f : now) f();
        });
        after_repair_.clear();
        return;
    }
    repairing_ = true;
    const auto* feed = own_.ready();
    const auto seen = feed != nullptr ? feed->verified_through() : rest_cursor{};
    writer_->repair(seen, [this] {
        asio::post(on_, [this] {
            repairing_ = false;
            std::vector<std::function<void()>> now;
            now.swap(after_repair_);
            for (const auto& f : now) f();
        });
    });
}

}  // namespace litefeed::server
