#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/cursor.hpp"
#include "core/errc.hpp"
#include "core/repair.hpp"
#include "core/stamp.hpp"
#include "core/thinning.hpp"
#include "core/triggers.hpp"

namespace litefeed {

/// What a change of the watched set did, table by table, in the words for a person.
struct watch_report {
    std::vector<std::string> watched;  ///< newly
    std::vector<std::string> kept;     ///< already watched and right; nothing was written for them
    std::vector<std::string>
        repaired;  ///< capture was incomplete and stands again, in a new generation
    std::vector<std::pair<std::string, std::string>>
        refused;  ///< name, reason (watch-all lists instead of failing)
    std::vector<std::pair<std::string, std::string>> warnings;  ///< name, what to know
};

/// What is to become of the entries of the tables that are watched; none: as it is, or as it is for every table.
struct keeping_wish {
    std::optional<bool> latest;
    std::optional<std::int64_t> retention_s;  ///< 0: the file's
};

/// The one writer: installs, removes and repairs capture, each in one `BEGIN IMMEDIATE`, idempotent, with no DDL when
/// nothing differs. One thread. Holds the write lock only within a call.
class keeper {
  public:
    /// `serving`: never checkpoints, for the server's lifetime. Else a one-shot command, which closes as any program
    /// does, so that no -wal is left beside the owner's file. Throws `cannot` (missing, not a database, read-only ...).
    static keeper open(const std::string& path, bool serving);
    keeper(keeper&&) noexcept;
    keeper& operator=(keeper&&) noexcept;
    ~keeper();

    /// Watches `tables` by name. A table that is watched already keeps what `keeping` leaves open. Throws `cannot` that names table and reason when one of them cannot be watched, and
    /// `not_now` when the file is locked or the disk full; then nothing is changed.
    watch_report watch(const std::vector<std::string>& tables, const watch_options& options,
                       const keeping_wish& keeping = {});
    /// Watches every ordinary table that can be; lists the others in `refused`.
    watch_report watch_all(const watch_options& options, const keeping_wish& keeping = {});
    /// What `watch_all` would do, without writing. Throws as it does.
    watch_report plan_all(const watch_options& options);
    /// Removes the capture of `tables`; readers are told `truncate`. Throws `cannot` for a table that is not watched.
    void unwatch(const std::vector<std::string>& tables);
    /// Removes everything of litefeed's: schema and data as before the first `watch`. Returns the tables that were
    /// watched (empty: nothing of ours was there).
    std::vector<std::string> unwatch_all();

    /// Verifies every watched table against its definition and repairs what differs. `seen` is the head at which some
    /// reader last found everything in order (feed::verified_through): if the log still leads through it and holds no
    /// entry of the table since, a guard that is missing hid nothing. Errors: errc::busy, errc::damaged,
    /// errc::newer_format, sqlite.
    [[nodiscard]] result<repair_report> repair(const rest_cursor& seen = {});

    /// Begins a new lineage above `known`, with every table in a new generation, if the file's lineage is still that one
    /// and does not lead through `known`: two servers do it once. Errors: errc::busy, errc::damaged,
    /// errc::newer_format, sqlite.
    [[nodiscard]] result<repair_report> begin_lineage(const rest_cursor& known);

    /// Thins the log as of `now_ms`, in small batches, and calls `go_on` between them (thinning.hpp). One that serves
    /// never checkpoints, and ends while the WAL is long. Errors: errc::busy, errc::damaged,
    /// errc::newer_format, sqlite.
    [[nodiscard]] result<thinning_report> thin(
        std::int64_t now_ms, const std::function<bool(const thinning_report&)>& go_on);
    /// The most entries the log may have, in the file for whoever thins it. Throws `cannot`, `not_now`.
    void set_entries_max(std::int64_t entries);

  private:
    struct impl;
    explicit keeper(std::unique_ptr<impl>);
    std::unique_ptr<impl> impl_;
};

}  // namespace litefeed
