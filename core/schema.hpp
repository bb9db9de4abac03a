#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/sqlite.hpp"

namespace litefeed {

/// One row of sqlite_schema.
struct schema_entry {
    std::int64_t place{};  ///< its rowid there: the order in which triggers were made
    std::string type, name, table, sql;
    std::int64_t root_page{};
};

/// sqlite_schema as one read transaction sees it.
struct schema {
    std::int64_t version{};
    std::vector<schema_entry> entries;  ///< in order of place

    [[nodiscard]] const schema_entry* find(std::string_view type, std::string_view name) const;
};

[[nodiscard]] schema read_schema(const connection& db);

}  // namespace litefeed
