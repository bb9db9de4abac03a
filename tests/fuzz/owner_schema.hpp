#pragma once

#include <sqlite3.h>

#include <string>
#include <string_view>

#include "core/sqlite.hpp"

namespace litefeed::fuzz {

/// A database in memory with whatever tables, indexes and views SQLite takes of a script. Nothing else is run: no queries,
/// no settings, nothing that leaves the database, and no function that gives something else each time.
class owner_schema {
  public:
    explicit owner_schema(const std::string& script) {
        sqlite3_limit(db.get(), SQLITE_LIMIT_LENGTH, 100'000);
        sqlite3_set_authorizer(db.get(), allow, nullptr);
        std::size_t begin = 0;
        while (begin < script.size()) {
            const std::size_t end = std::min(script.find(";\n", begin), script.size());
            sqlite3_exec(db.get(), script.substr(begin, end - begin).c_str(), nullptr, nullptr,
                         nullptr);
            begin = end + 2;
        }
        sqlite3_set_authorizer(db.get(), nullptr, nullptr);
    }

    connection db{":memory:", connection::access::read_write, 0};

  private:
    static int allow(void*, int what, const char*, const char* name, const char* schema,
                     const char*) {
        switch (what) {
            case SQLITE_CREATE_TABLE:
            case SQLITE_CREATE_INDEX:
            case SQLITE_CREATE_VIEW:
            case SQLITE_REINDEX:
            case SQLITE_INSERT:
            case SQLITE_UPDATE:
            case SQLITE_READ:
                return schema == nullptr || std::string_view(schema) == "main" ? SQLITE_OK
                                                                               : SQLITE_DENY;
            case SQLITE_FUNCTION:
                return std::string_view(name).starts_with("random") ? SQLITE_DENY : SQLITE_OK;
            default:
                return SQLITE_DENY;
        }
    }
};

}  // namespace litefeed::fuzz
