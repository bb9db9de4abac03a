#include "server/render.hpp"

#include <charconv>
#include <vector>

#include "core/json.hpp"

namespace litefeed::server {
namespace {

void append_number(std::string& out, std::int64_t n) {
    char digits[24];
    const auto end = std::to_chars(std::begin(digits), std::end(digits), n).ptr;
    out.append(digits, end);
}

/// `{"table":"…","op":"` for each table of a delta, made once: names need escaping, ops do not.
std::vector<std::string> beginnings(const delta& d) {
    std::vector<std::string> out;
    out.reserve(d.tables.size());
    for (const auto& name : d.tables) {
        auto& text = out.emplace_back(R"({"table":)");
        append_json_text(name, text);
        text += R"(,"op":")";
    }
    return out;
}

/// The row, or why it does not come; nothing for a change without one.
void append_row(std::string& out, const delta& d, const change& c) {
    if (c.row.size > 0) {
        out += R"(,"row":)";
        out += d.text(c.row);
    } else if (c.too_large > 0) {
        out += R"(,"too_large":)";
        append_number(out, static_cast<std::int64_t>(c.too_large));
    } else if (c.unreadable) {
        out += R"(,"unreadable":true)";
    }
}

void append_change(std::string& out, const delta& d, const change& c, std::string_view beginning) {
    out += beginning;
    out += to_word(c.op);
    out += '"';
    if (c.op != change_op::read && c.at.n > 0) {
        out += R"(,"stamp":)";
        append_number(out, c.at.n);
    }
    if (c.key.size > 0) {
        out += R"(,"key":)";
        out += d.text(c.key);
    }
    append_row(out, d, c);
    out += '}';
}

void append_place(std::string& out, stamp head, std::string_view cursor) {
    out += R"({"head":)";
    append_number(out, head.n);
    out += R"(,"cursor":")";
    out += cursor;
    out += '"';
}

void append_more(std::string& out, bool more) {
    out += more ? R"(,"more":true)" : R"(,"more":false)";
}

void append_reset(std::string& out, const reset& r) {
    out += R"(,"reset":{"reason":")";
    out += to_word(r.reason);
    out += R"(","tables":[)";
    for (std::size_t i = 0; i < r.tables.size(); ++i) {
        if (i > 0) out += ',';
        append_json_text(r.tables[i], out);
    }
    out += R"(],"floor":)";
    append_number(out, r.floor.n);
    out += '}';
}

/// One event per table: the changes of `table`, or all of them when it is none of the delta's.
void append_table_event(std::string& out, const answer& a, std::string_view place, bool more,
                        std::uint32_t table, std::string_view beginning) {
    const auto& name = a.changes.tables[table];
    if (can_name_event(name)) (out += "event: ") += name + "\n";
    out += "data: ";
    append_place(out, a.head, place);
    append_more(out, more);
    out += R"(,"changes":[)";
    bool first = true;
    for (const auto& c : a.changes.changes) {
        if (c.table != table) continue;
        if (!first) out += ',';
        first = false;
        append_change(out, a.changes, c, beginning);
    }
    out += "]}\n";
}

void append_id(std::string& out, std::string_view cursor) { ((out += "id: ") += cursor) += "\n\n"; }

std::size_t estimate(const delta& d) { return 160 + d.bytes.size() + d.changes.size() * 80; }

}  // namespace

void append_answer(std::string& out, const answer& a, std::string_view cursor) {
    out.reserve(out.size() + estimate(a.changes));
    append_place(out, a.head, cursor);
    append_more(out, a.more);
    out += R"(,"changes":[)";
    const auto begin = beginnings(a.changes);
    bool first = true;
    for (const auto& c : a.changes.changes) {
        if (!first) out += ',';
        first = false;
        append_change(out, a.changes, c, begin[c.table]);
    }
    out += ']';
    if (a.reset) append_reset(out, *a.reset);
    out += '}';
}

void append_answer_lines(std::string& out, const answer& a, std::string_view cursor) {
    out.reserve(out.size() + estimate(a.changes));
    const auto begin = beginnings(a.changes);
    for (const auto& c : a.changes.changes) {
        append_change(out, a.changes, c, begin[c.table]);
        out += '\n';
    }
    append_place(out, a.head, cursor);
    append_more(out, a.more);
    if (a.reset) append_reset(out, *a.reset);
    out += "}\n";
}

namespace {

void append_page_row(std::string& out, const delta& d, const change& c) {
    out += R"({"key":)";
    out += d.text(c.key);
    append_row(out, d, c);
    out += '}';
}

void append_rows_head(std::string& out, const rows_page& page, std::string_view table) {
    out += R"({"table":)";
    append_json_text(table, out);
    out += R"(,"head":)";
    append_number(out, page.head.n);
    ((out += R"(,"cursor":")") += page.cursor) += '"';
}

void append_rows_next(std::string& out, const rows_page& page) {
    out += R"(,"next":)";
    if (page.next)
        append_json_text(*page.next, out);
    else
        out += "null";
    out += '}';
}

}  // namespace

void append_rows(std::string& out, const rows_page& page, std::string_view table) {
    out.reserve(out.size() + estimate(page.rows));
    append_rows_head(out, page, table);
    out += R"(,"rows":[)";
    bool first = true;
    for (const auto& c : page.rows.changes) {
        if (!first) out += ',';
        first = false;
        append_page_row(out, page.rows, c);
    }
    out += ']';
    append_rows_next(out, page);
}

void append_rows_lines(std::string& out, const rows_page& page, std::string_view table) {
    out.reserve(out.size() + estimate(page.rows));
    for (const auto& c : page.rows.changes) {
        append_page_row(out, page.rows, c);
        out += '\n';
    }
    append_rows_head(out, page, table);
    append_rows_next(out, page);
    out += '\n';
}

void append_events(std::string& out, const answer& a, std::string_view cursor,
                   std::string_view before, bool named) {
    if (!named) {
        out += "data: ";
        append_answer(out, a, cursor);
        out += '\n';
        // The id goes out last, so a cut frame never moves the browser's place.
        append_id(out, cursor);
        return;
    }
    std::vector<std::uint32_t> order;  // tables in the order of their first change
    std::vector<bool> seen(a.changes.tables.size());
    for (const auto& c : a.changes.changes) {
        if (seen[c.table]) continue;
        seen[c.table] = true;
        order.push_back(c.table);
    }
    const auto begin = beginnings(a.changes);
    for (std::size_t i = 0; i < order.size(); ++i) {
        const bool last = i + 1 == order.size() && !a.reset;
        append_table_event(out, a, last ? cursor : before, last ? a.more : true, order[i],
                           begin[order[i]]);
        if (last)
            append_id(out, cursor);
        else
            out += '\n';
    }
    if (a.reset || order.empty()) {
        if (a.reset) out += "event: reset\n";
        out += "data: ";
        append_place(out, a.head, cursor);
        append_more(out, a.more);
        out += R"(,"changes":[])";
        if (a.reset) append_reset(out, *a.reset);
        out += "}\n";
        append_id(out, cursor);
    }
}

void append_cursor_event(std::string& out, stamp head, std::string_view cursor) {
    ((out += "event: cursor\nid: ") += cursor) += "\ndata: ";
    append_place(out, head, cursor);
    out += "}\n\n";
}

void append_chunk(std::string& out, std::string_view text) {
    if (text.empty()) return;
    char digits[16];
    const auto end = std::to_chars(std::begin(digits), std::end(digits), text.size(), 16).ptr;
    out.append(digits, end).append("\r\n").append(text).append("\r\n");
}

}  // namespace litefeed::server
