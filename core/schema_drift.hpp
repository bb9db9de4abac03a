#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/schema.hpp"
#include "core/sqlite.hpp"

namespace litefeed {

/// sqlite_schema as the keeper last verified it (litefeed_schema), with the schema_version of that time.
[[nodiscard]] schema read_verified_schema(const connection& db);

/// How many steps of schema_version the visible differences need at least: each CREATE, DROP and ALTER adds one, and what
/// a step takes along (a dropped table's indexes and triggers, a renamed column's places) is free. Never more than there
/// were, so that a VACUUM among them shows; where several histories end alike, less than some of them took.
[[nodiscard]] std::int64_t explained_steps(const schema& before, const schema& after);

/// What can have happened between two sights without leaving a difference in a table's text or triggers.
struct unseen_edits {
    /// How many steps schema_version moved beyond what the visible differences explain. One can be a VACUUM; two or more
    /// can be edits that cancel out and left nothing else behind (DROP COLUMN c; ADD COLUMN c), on any table. Not below 0;
    /// two when it went backwards: another file.
    std::int64_t steps{};
    std::vector<std::string> made_anew;  ///< tables that were dropped and made again

    /// What either of them tells.
    void add(const unseen_edits& other);
};
[[nodiscard]] unseen_edits unseen_between(const schema& before, const schema& after);
inline constexpr std::int64_t steps_of_a_vacuum = 1, steps_that_cancel_out = 2;

}  // namespace litefeed
