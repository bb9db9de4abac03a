#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/feed.hpp"
#include "server/parameters.hpp"
#include "server/request.hpp"
#include "server/target.hpp"

namespace litefeed::server {

enum class answer_format { json, ndjson };

/// GET /changes.
struct changes_request {
    question ask;
    std::chrono::seconds wait{0};
    std::optional<stamp> until;
    answer_format format{};
};

/// GET /rows/{table}.
struct rows_request {
    rows_question ask;
    answer_format format{};
};

/// Where a stream starts, and as what text it is named to the client; empty text: the head, once it is known.
struct stream_start {
    position from = from_now{};
    std::string text;
};

/// GET /events.
struct events_request {
    stream_start start;
    selection want;
    bool snapshot = false;
    bool named = false;                             ///< one event per table, named after it
    std::optional<std::chrono::seconds> heartbeat;  ///< as an event; none: comments only
};

[[nodiscard]] outcome<changes_request> read_changes(const request&, const target&);
[[nodiscard]] outcome<rows_request> read_rows(const request&, const target&, std::string table);
[[nodiscard]] outcome<events_request> read_events(const request&, const target&);

/// Which place a stream starts at: the header, then the parameters that stand for it, then `since`, then now. What
/// cannot be read is a reset, never an error: any status but 200 ends an EventSource for good.
[[nodiscard]] stream_start choose_start(const request&, const parameters&);

/// Whether a table's name can be the name of an event: no other event of ours or of a page may be called so.
[[nodiscard]] bool can_name_event(std::string_view table);

}  // namespace litefeed::server
