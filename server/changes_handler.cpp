#include <random>

#include "server/access.hpp"
#include "server/handlers.hpp"
#include "server/render.hpp"

namespace litefeed::server {
namespace {

using read_answer = std::function<result<answer>(feed&, std::int64_t)>;

/// Up to a tenth earlier than asked: proxies cut at a round number, and clients must not all come back at once.
std::chrono::milliseconds with_jitter(std::chrono::seconds wait) {
    thread_local std::minstd_rand random{std::random_device{}()};
    const auto whole = std::chrono::milliseconds(wait).count();
    return std::chrono::milliseconds(
        std::uniform_int_distribution<std::int64_t>(whole - whole / 10, whole)(random));
}

bool worth_telling(const answer& a, const std::optional<stamp>& until) {
    if (a.more || a.reset) return true;
    if (until) return a.head >= *until;
    return !a.changes.changes.empty();
}

response to_response(const answer& a, answer_format format) {
    response out;
    const auto cursor = a.cursor();
    if (format == answer_format::ndjson) {
        out.content_type = "application/x-ndjson";
        append_answer_lines(out.body, a, cursor);
    } else {
        out.content_type = "application/json";
        append_answer(out.body, a, cursor);
        out.body += '\n';
    }
    out.field("Cache-Control", "no-store");
    out.field("Litefeed-Head", std::to_string(a.head.n));
    out.field("Litefeed-Cursor", cursor);
    out.field("Litefeed-More", a.more ? "true" : "false");
    if (a.reset) out.field("Litefeed-Reset", to_word(a.reset->reason));
    return out;
}

problem why_not(const error_code& why, loop& of, const selection& want) {
    if (why != errc::unknown_table) return to_problem(why, of);
    problem out{.kind = problem_kind::unknown_table,
                .detail = "This file's log knows no such table; /tables lists what is."};
    const auto name = of.reading().own().call([&](feed& f) { return f.unknown(want); });
    if (name && *name) {
        out.detail = **name + " is no table that this file's log knows; /tables lists what is.";
        out.parameter = "table";
    }
    return out;
}

}  // namespace

task<response> answer_changes(loop* of, const request* asked, target at, int socket) {
    if (of->answers().find(*asked) != nullptr) of->look();
    if (const response* known = of->answers().find(*asked)) {
        response out = *known;
        co_return out;
    }
    auto read = read_changes(*asked, at);
    if (!read) co_return to_response(read.error());
    changes_request want = std::move(*read);
    // What one waiter for "from now on" was told is nothing for the next, whose now is another.
    const bool same_for_all =
        want.wait.count() == 0 || !std::holds_alternative<from_now>(want.ask.from);
    const auto deadline = steady::now() + with_jitter(want.wait);
    for (;;) {
        read_answer ask = [&q = want.ask](feed& f, std::int64_t effort_max) {
            auto bounded = q;
            bounded.effort_max = effort_max;
            return f.changes(bounded);
        };
        const auto moves = of->answers().moves();
        result<answer> got = co_await of->reading().ask<answer>(ask);
        if (!got) {
            const problem why = why_not(got.error(), *of, want.ask.want);
            co_return to_response(why);
        }
        const bool told = want.wait.count() == 0 || worth_telling(*got, want.until);
        if (told || of->stopping() || steady::now() >= deadline) {
            response out = to_response(*got, want.format);
            if (told && same_for_all) of->answers().put(*asked, out, moves);
            co_return out;
        }

        waiter w(of->on());
        w.want = want.ask.want;
        w.at = got->head;
        w.until = want.until;
        w.socket = socket;
        // Asked again from where this answer came, so that a run of touches is not looked through twice. With `until`
        // what is there is kept for the one answer.
        if (got->changes.changes.empty()) want.ask.from = got->next;
        {
            const waiters::guard member(of->waiting(), w);
            count(of->stats().waiters);
            of->listened();
            of->look();
            co_await w.bell.wait(deadline);
            count(of->stats().waiters, -1);
        }
        if (w.gone) {
            response nothing;
            nothing.close = true;
            co_return nothing;
        }
        // The token may have been taken away meanwhile.
        if (const auto* tokens = of->tokens())
            if (const auto holder = holder_of(*asked, *tokens); !holder)
                co_return to_response(holder.error());
    }
}

}  // namespace litefeed::server
