#include "core/errc.hpp"

#include <sqlite3.h>

#include <string>

namespace litefeed {
namespace {

class core_category final : public boost::system::error_category {
  public:
    const char* name() const noexcept override { return "litefeed"; }
    std::string message(int value) const override {
        switch (static_cast<errc>(value)) {
            case errc::busy:
                return "another connection holds the database locked; ask again";
            case errc::malformed_cursor:
                return "this is not a cursor of this feed";
            case errc::unknown_table:
                return "no table of this name is watched";
            case errc::page_gone:
                return "the file was restored or the table began anew; read the table from its "
                       "first page";
            case errc::too_long:
                return "the read would take long";
            case errc::drifted:
                return "the schema moved under the capture";
            case errc::not_watched:
                return "nothing is watched in this file";
            case errc::newer_format:
                return "the feed in this file was made by a later litefeed";
        }
        return "unknown";
    }
};

class sqlite_error_category final : public boost::system::error_category {
  public:
    const char* name() const noexcept override { return "sqlite"; }
    std::string message(int value) const override { return sqlite3_errstr(value); }
};

}  // namespace

const boost::system::error_category& litefeed_category() noexcept {
    static const core_category category;
    return category;
}

const boost::system::error_category& sqlite_category() noexcept {
    static const sqlite_error_category category;
    return category;
}

}  // namespace litefeed
