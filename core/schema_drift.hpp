#pragma once

#include <cstdint>

#include "core/schema.hpp"
#include "core/sqlite.hpp"

namespace litefeed {

/// sqlite_schema as the keeper last verified it (litefeed_schema), with the schema_version of that time.
[[nodiscard]] schema read_verified_schema(const connection& db);

/// How many steps of schema_version the visible differences need at least: each CREATE, DROP and ALTER adds one, and what
/// a step takes along (a dropped table's indexes and triggers, a renamed column's places) is free. Never more than there
/// were, so that a VACUUM among them shows; where several histories end alike, less than some of them took.
[[nodiscard]] std::int64_t explained_steps(const schema& before, const schema& after);

/// True when schema_version moved further than the visible differences explain: a VACUUM, or edits that cancel out and
/// left nothing else behind (DROP COLUMN c; ADD COLUMN c). Also when it went backwards: another file.
[[nodiscard]] bool moved_unexplained(const schema& before, const schema& after);

}  // namespace litefeed
