#include "server/status_json.hpp"

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>

namespace litefeed::server {
namespace {

using json = nlohmann::ordered_json;

// Names may hold any bytes; what is not UTF-8 is replaced, as everywhere on the wire.
std::string dump(const json& j) { return j.dump(-1, ' ', false, json::error_handler_t::replace); }

json time_json(std::int64_t unix_ms) {
    return unix_ms > 0 ? json(utc_text(unix_ms)) : json(nullptr);
}

json table_json(const table_status& t) {
    json columns = json::array();
    for (const auto& [name, type] : t.columns) columns.push_back({{"name", name}, {"type", type}});
    json out{{"table", t.name},
             {"key", t.key},
             {"keyed_by_rowid", t.keyed_by_rowid},
             {"columns", std::move(columns)},
             {"generation",
              {{"number", t.generation},
               {"id", t.generation_id},
               {"reason", t.reason},
               {"stamp", t.generation_at.n},
               {"time", utc_text(t.generation_ms)}}},
             {"head", t.head.n},
             {"entries", t.entries},
             {"touched", t.touched},
             {"contract", t.contract},
             {"keep", t.keep},
             {"retention_s", t.retention_s},
             {"problem", nullptr}};
    if (t.problem) out["problem"] = *t.problem;
    return out;
}

}  // namespace

std::string utc_text(std::int64_t unix_ms) {
    // The file may hold any number: what no year of four digits holds is not told apart.
    constexpr std::int64_t last_ms = 253'402'300'799'999;
    unix_ms = std::clamp<std::int64_t>(unix_ms, 0, last_ms);
    const auto seconds = static_cast<std::time_t>(unix_ms / 1000);
    std::tm parts{};
    ::gmtime_r(&seconds, &parts);
    char text[40], whole[48];
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
    std::snprintf(whole, sizeof whole, "%s.%03dZ", text, static_cast<int>(unix_ms % 1000));
    return whole;
}

std::string tables_json(const tables_status& now) {
    json list = json::array();
    for (const auto& t : now.tables) list.push_back(table_json(t));
    return dump({{"head", now.head.n}, {"tables", std::move(list)}}) + "\n";
}

std::string feed_members(const feed_status& s) {
    json out{{"feed",
              {{"format", s.format},
               {"lineage", s.lineage},
               {"head", s.head.n},
               {"floor", s.floor.n},
               {"entries", s.entries},
               {"folded", s.folded},
               {"entries_max", s.entries_max},
               {"retention_s", s.retention_s},
               {"installed_at", time_json(s.installed_ms)},
               {"compacted_at", time_json(s.compacted_ms)},
               {"read_only", s.read_only},
               {"problems", s.problems}}},
             {"file",
              {{"path", s.path},
               {"journal_mode", s.journal_mode},
               {"schema_version", s.schema_version},
               {"bytes", s.file_bytes},
               {"wal_bytes", s.wal_bytes},
               {"page_bytes", s.page_bytes},
               {"sqlite", s.sqlite_version}}}};
    auto text = dump(out);
    return text.substr(1, text.size() - 2);
}

}  // namespace litefeed::server
