#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/problem.hpp"
#include "server/request.hpp"

namespace litefeed::server {

/// An answer that is complete before it is sent.
struct response {
    int status = 200;
    std::string content_type;  ///< empty: no body and no such field
    std::string fields;        ///< further header lines, each ending with CR LF
    std::string body;
    bool close = false;  ///< the connection ends after it

    /// `value` must not hold CR or LF; both come from us, never from a request, unless they were checked.
    void field(std::string_view name, std::string_view value);
};

[[nodiscard]] response to_response(const problem&);

/// Status line and header fields up to and including the empty line. `date` is an IMF-fixdate.
[[nodiscard]] std::string head_of(const response&, const request&, std::string_view date);

[[nodiscard]] std::string_view reason_phrase(int status);

/// The lines by which a page of an allowed origin may read the answer; `Vary` once any origin is allowed.
/// A preflight gets its own lines in addition.
[[nodiscard]] std::string cors_fields(const request&, const std::vector<std::string>& origins);

/// Whether `Accept` names `type` itself, with a quality above 0.
[[nodiscard]] bool accepts(std::string_view accept, std::string_view type);

/// Without the blanks and tabs at its ends.
[[nodiscard]] std::string_view trim(std::string_view s);

/// The same but for the case of ASCII letters.
[[nodiscard]] bool same_word(std::string_view a, std::string_view b);

}  // namespace litefeed::server
