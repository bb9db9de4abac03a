#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "server/request.hpp"
#include "server/response.hpp"
#include "server/target.hpp"
#include "server/tokens.hpp"

namespace litefeed::server {

// Who a request comes from, where a token is needed. All of it is pure.

/// What `Authorization` carries for us: what follows the scheme Bearer, as it is; none for another scheme.
[[nodiscard]] std::optional<std::string_view> bearer_token(std::string_view authorization);

/// The value of the first cookie `litefeed_token` of a Cookie header, without the quotes and escapes that frameworks put
/// around `=` and `/`.
[[nodiscard]] std::optional<std::string> cookie_token(std::string_view cookies);

/// The token that the request is made with. Problems: token_required, invalid_token.
[[nodiscard]] outcome<const token*> holder_of(const request&, const token_list&);

/// The one visit that turns a token in the query into the cookie: `/?token=…`. None when the request is no such visit;
/// its query goes nowhere else.
[[nodiscard]] std::optional<response> answer_visit(const request&, const target&,
                                                   const token_list&);

}  // namespace litefeed::server
