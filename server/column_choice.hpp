#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/feed.hpp"

namespace litefeed::server {

/// `--hide` and `--only` as they were given. What they name is known only once the file can be read.
struct column_choice {
    std::vector<std::string> hide;  ///< TABLE.COLUMN
    std::vector<std::string> only;  ///< TABLE:COLUMN,COLUMN
    [[nodiscard]] bool empty() const { return hide.empty() && only.empty(); }
};

/// A choice that is read once, against the first file that can be read: from then on the rules follow their tables.
/// Any thread.
class chosen_columns {
  public:
    explicit chosen_columns(column_choice choice) : choice_(std::move(choice)) {}
    [[nodiscard]] bool empty() const { return choice_.empty(); }
    /// None until they were read.
    [[nodiscard]] std::optional<column_rules> rules() const;
    /// Throws `cannot`, in words without names of columns: readers get to see them.
    column_rules read(const std::vector<table_status>& tables);

  private:
    const column_choice choice_;
    mutable std::mutex mutex_;
    std::optional<column_rules> rules_;
};

/// Reads a choice against what the file has. Throws `cannot` for what is not there and for key columns.
[[nodiscard]] column_rules read_column_rules(const column_choice& choice,
                                             const std::vector<table_status>& tables);

}  // namespace litefeed::server
