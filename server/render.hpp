#pragma once

#include <string>
#include <string_view>

#include "core/feed.hpp"
#include "server/feed_request.hpp"

namespace litefeed::server {

/// Appends `{"head":…,"cursor":…,"more":…,"changes":[…]}` with the reset where there is one; one line, no line end.
void append_answer(std::string& out, const answer& a, std::string_view cursor);

/// The same as lines: each change one, and a last one with everything else.
void append_answer_lines(std::string& out, const answer& a, std::string_view cursor);

void append_rows(std::string& out, const rows_page& page, std::string_view table);
void append_rows_lines(std::string& out, const rows_page& page, std::string_view table);

/// The events of one answer on a stream: one unnamed event, or with `named` one event per table. The last carries
/// `id:`, so that it is a place where everything before it was told; the earlier ones of a named answer have the place
/// `before` it in their data.
void append_events(std::string& out, const answer& a, std::string_view cursor,
                   std::string_view before, bool named);

/// `event: cursor`: a place, with nothing to tell.
void append_cursor_event(std::string& out, stamp head, std::string_view cursor);

/// One chunk of a chunked body (RFC 9112, 7.1). Nothing for an empty text: that would end the body.
void append_chunk(std::string& out, std::string_view text);

}  // namespace litefeed::server
