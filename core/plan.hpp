#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "core/log.hpp"
#include "core/stamp.hpp"

namespace litefeed {

/// One row of a delta before it is read: where its last entry stands, and what a reader at the base can hold of it.
struct planned_change {
    stamp
        at;  ///< the row's last entry that is not a touch; of a row that was only touched, its last touch
    bool held : 1;          ///< a reader at the base holds the row
    bool only_touched : 1;  ///< guards alone named it: told only if it is gone
    bool truncates : 1;     ///< the table is gone (`x`): its rows are to be dropped
};

/// The rows of `tables` with entries in (base, ceiling], each once, in order of their last entry.
///
/// A reader holds a row iff the first entry above its base, leading updates skipped, is not an insert; a touch proves
/// that the row was there. (The owner's triggers may log an update ahead of the insert it belongs to.)
class delta_plan {
  public:
    /// Reads the log. `tables`: in ascending order; `effort_max` > 0 bounds the entries read, beyond it
    /// errc::too_long is thrown as system_error.
    static delta_plan make(log_reader& log, stamp base, stamp ceiling,
                           const std::vector<std::int64_t>& tables, std::int64_t effort_max);

    [[nodiscard]] const std::vector<planned_change>& changes() const { return changes_; }
    /// Entries of (base, ceiling] are gone that nobody thinned away, so there may be more changes than these.
    [[nodiscard]] bool has_gap() const { return has_gap_; }

  private:
    bool has_gap_ = false;
    std::vector<planned_change> changes_;
};

/// The plans of runs that are being paged, so that a page costs its rows and not the whole run again. Correctness never
/// hangs on it: a plan that is not here is made anew from the log.
class plan_cache {
  public:
    struct key {
        std::uint32_t lineage{};
        std::uint32_t ceiling_digest{};
        stamp base, ceiling;
        std::vector<std::int64_t> tables;
        friend auto operator<=>(const key&, const key&) = default;
    };
    [[nodiscard]] std::shared_ptr<const delta_plan> find(const key& k);
    void put(key k, std::shared_ptr<const delta_plan> plan);

  private:
    struct entry {
        std::shared_ptr<const delta_plan> plan;
        std::uint64_t used{};
    };
    std::map<key, entry> plans_;
    std::uint64_t clock_{};
};

}  // namespace litefeed
