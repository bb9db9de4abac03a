#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "core/catalog.hpp"
#include "core/feed.hpp"
#include "core/log.hpp"
#include "core/open.hpp"
#include "core/sqlite.hpp"

namespace litefeed {

/// A connection's view of the feed across its read transactions: reads what moved, verifies it, and keeps the rest.
class feed_view {
  public:
    feed_view(const std::string& path, connection db, feed_options options);

    /// thorough: the rows of litefeed_tables are counted, too, as somebody may have taken one out.
    enum class depth { usual, thorough };

    /// One read transaction. While it stands, head, floor, catalog and log belong together.
    class snapshot {
      public:
        /// Throws sqlite_error; errc::drifted, errc::damaged and errc::newer_format as boost::system::system_error.
        explicit snapshot(feed_view& of, depth how = depth::usual);
        [[nodiscard]] stamp head() const { return view_.head_; }
        /// The cursor at the head.
        [[nodiscard]] const rest_cursor& here() const { return view_.here_; }
        [[nodiscard]] const meta& state() const { return view_.meta_; }
        [[nodiscard]] bool installed() const { return view_.log_ != nullptr; }
        [[nodiscard]] catalog& tables() const { return view_.catalog_; }
        [[nodiscard]] log_reader& log() const { return *view_.log_; }
        [[nodiscard]] const connection& db() const { return view_.db_; }
        [[nodiscard]] rest_cursor cursor_at(stamp at) const;
        [[nodiscard]] std::int64_t schema_version() const { return view_.schema_version_; }
        /// Moves with all that an answer can hold, `[0-9a-f.]`: what an ETag needs beside the request.
        [[nodiscard]] std::string version() const;
        /// True when the owner changed the schema since the keeper last wrote down what it saw.
        [[nodiscard]] bool unrecorded() const {
            return installed() && view_.recorded_version_ != view_.schema_version_;
        }
        /// An entry that an earlier snapshot saw at the head, and that is not there under the same lineage.
        [[nodiscard]] const std::optional<rest_cursor>& gone() const { return gone_; }
        /// Another one whenever the catalog was read anew, by whatever read.
        [[nodiscard]] std::int64_t catalog_number() const { return view_.catalog_number_; }

      private:
        feed_view& view_;
        transaction transaction_;
        std::optional<rest_cursor> gone_;
    };

    [[nodiscard]] const connection& db() const { return db_; }
    [[nodiscard]] const feed_options& options() const { return options_; }
    [[nodiscard]] const rest_cursor& verified_through() const { return verified_through_; }
    /// Before anything is read: throws sqlite_error when the file is another one by now, or reading it would leave
    /// files that its owner cannot write.
    void refuse_unreadable();
    /// The entry at the head of the last snapshot in which none was `gone`; to be kept over openings of the file.
    [[nodiscard]] const std::optional<rest_cursor>& newest() const { return newest_; }
    void set_newest(const std::optional<rest_cursor>& at) { newest_ = at; }
    /// The file's length or time moved between the last two calls of `refuse_unreadable`.
    [[nodiscard]] bool touched() const { return file_.touched(); }

  private:
    void load();
    void read_state();
    [[nodiscard]] bool is_lost() {
        return log_->is_lost(meta_.floor, head_, lowest_,
                             std::max(newest_generation_, meta_.seen_through));
    }
    void judge_log();
    [[nodiscard]] bool lists_other_tables();
    [[nodiscard]] std::optional<rest_cursor> find_gone();

    connection db_;
    named_file file_;
    bool foreign_;  // what this user makes beside the file would be beyond its owner
    feed_options options_;
    statement schema_version_row_, state_row_, listed_row_;
    std::unique_ptr<log_reader> log_;  // none: no litefeed tables in the file
    catalog catalog_;
    schema_sight sight_;
    std::int64_t recorded_version_ = -1;  // the schema_version that the keeper last verified
    meta meta_;
    stamp head_;
    rest_cursor here_, verified_through_;
    std::optional<rest_cursor> newest_;
    stamp lowest_;             // the first entry above the floor; 0: none
    stamp newest_generation_;  // of the catalog
    bool lost_ = false;        // entries are gone that nobody thinned away
    std::int64_t schema_version_ = -1;
    std::int64_t loaded_catalog_version_ = -1;
    std::int64_t catalog_number_ = 0;
};

}  // namespace litefeed
