#pragma once

#include <list>
#include <optional>

#include "core/feed.hpp"
#include "server/bell.hpp"

namespace litefeed::server {

/// One long poll that waits on this loop, from its question to its answer; membership is this object.
struct waiter {
    selection want;
    stamp at;                    ///< what its answer reached
    std::optional<stamp> until;  ///< then only the head counts
    int socket = -1;             ///< looked at now and then: who is gone waits for nothing
    server::bell bell;
    bool gone = false;

    explicit waiter(const executor& on) : bell(on) {}
};

/// Whether there is something for it, as of the last look.
[[nodiscard]] inline bool due(const waiter& w, stamp newest, stamp head) {
    return w.until ? head >= *w.until : newest > w.at;
}

class waiters {
  public:
    class guard {
      public:
        guard(waiters& of, waiter& w) : of_(of) { place_ = of.all_.insert(of.all_.end(), &w); }
        ~guard() { of_.all_.erase(place_); }
        guard(const guard&) = delete;
        guard& operator=(const guard&) = delete;

      private:
        waiters& of_;
        std::list<waiter*>::iterator place_;
    };

    /// After a look: those who are due wake; all of them when `everyone` (another lineage, a reopened file, the end).
    void ring(const feed& looked, bool everyone) {
        for (auto* w : all_)
            if (everyone || due(*w, looked.newest(w->want), looked.head())) w->bell.ring();
    }
    void ring_all() {
        for (auto* w : all_) w->bell.ring();
    }
    /// Wakes those whose connection was reset.
    void sweep();

    [[nodiscard]] std::size_t size() const { return all_.size(); }

  private:
    std::list<waiter*> all_;
};

}  // namespace litefeed::server
