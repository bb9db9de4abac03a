#include "server/request.hpp"

#include <algorithm>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/basic_parser.hpp>

#include "server/access.hpp"

namespace litefeed::server {
namespace {

namespace http = boost::beast::http;
using beast_text = boost::beast::string_view;

/// Beast's parser without a container of fields: what we look at is kept, the rest is only checked.
class header_reader : public http::basic_parser<true> {
  public:
    explicit header_reader(request& into) : into_(into) {}

    /// A Transfer-Encoding by which nobody can tell where the body ends. (Beast lets it pass as no body, or reads a
    /// list only as far as it is one.)
    [[nodiscard]] bool coded_without_end() const {
        return last_coding_ && !(chunked() && boost::beast::iequals(*last_coding_, "chunked"));
    }

  private:
    void on_request_impl(http::verb verb, beast_text, beast_text target, int version,
                         boost::beast::error_code& ec) override {
        ec = {};
        into_.method = verb == http::verb::get       ? method::get
                       : verb == http::verb::head    ? method::head
                       : verb == http::verb::options ? method::options
                                                     : method::other;
        into_.target.assign(target.data(), target.size());
        into_.version = version;
    }
    void on_field_impl(http::field name, beast_text spelled, beast_text value,
                       boost::beast::error_code& ec) override {
        ec = {};
        const std::string_view text(value.data(), value.size());
        switch (name) {
            case http::field::host:
                ++into_.hosts;
                into_.host = text;
                break;
            case http::field::origin:
                into_.origin = text;
                break;
            case http::field::if_none_match:
                // Several lines are one list (RFC 9110, 5.3).
                if (into_.if_none_match)
                    (*into_.if_none_match += ", ") += text;
                else
                    into_.if_none_match = text;
                break;
            case http::field::transfer_encoding:
                last_coding_ = text.substr(text.rfind(',') + 1);
                last_coding_->erase(0, last_coding_->find_first_not_of(" \t"));
                break;
            case http::field::expect:
                into_.expect = text;
                break;
            case http::field::accept:
                if (!into_.accept.empty()) into_.accept += ", ";
                into_.accept += text;
                break;
            case http::field::authorization:
                ++into_.authorizations;
                if (const auto given = bearer_token(text)) into_.token = *given;
                break;
            case http::field::cookie:
                if (!into_.token) into_.token = cookie_token(text);
                break;
            case http::field::access_control_request_method:
                into_.asked_method = text;
                break;
            case http::field::access_control_request_headers:
                into_.asked_headers = text;
                break;
            default:
                if (boost::beast::iequals(spelled, "Last-Event-ID")) into_.last_event_id = text;
                if (boost::beast::iequals(spelled, "X-Forwarded-Proto"))
                    into_.forwarded_https = same_word(text, "https");
                if (boost::beast::iequals(spelled, "Sec-Fetch-Site"))
                    into_.cross_site = text == "cross-site";
                break;
        }
    }
    void on_header_impl(boost::beast::error_code& ec) override { ec = {}; }
    void on_response_impl(int, beast_text, int, boost::beast::error_code&) override {}
    void on_body_init_impl(const boost::optional<std::uint64_t>&,
                           boost::beast::error_code& ec) override {
        ec = {};
    }
    std::size_t on_body_impl(beast_text body, boost::beast::error_code& ec) override {
        ec = {};
        return body.size();
    }
    void on_chunk_header_impl(std::uint64_t, beast_text, boost::beast::error_code& ec) override {
        ec = {};
    }
    std::size_t on_chunk_body_impl(std::uint64_t, beast_text body,
                                   boost::beast::error_code& ec) override {
        ec = {};
        return body.size();
    }
    void on_finish_impl(boost::beast::error_code& ec) override { ec = {}; }

    request& into_;
    std::optional<std::string> last_coding_;
};

problem bad_request(std::string detail) {
    return {.kind = problem_kind::bad_request, .detail = std::move(detail)};
}

problem refused(const boost::beast::error_code& ec) {
    if (ec == http::error::bad_version)
        return {.kind = problem_kind::version_not_supported,
                .detail = "Ask with HTTP/1.1 or HTTP/1.0."};
    return bad_request("The header does not parse: " + ec.message() + ".");
}

problem target_too_long(std::size_t bytes_max) {
    return {.kind = problem_kind::target_too_long,
            .detail = "At most " + std::to_string(bytes_max) + " bytes."};
}

/// No header begins like this; waiting for its end would only hold the connection (a TLS hello, for one).
bool hopeless(std::string_view line) {
    return std::any_of(line.begin(), line.end(), [](char c) {
        const auto u = static_cast<unsigned char>(c);
        return (u < 0x20 && c != '\r') || u == 0x7f;
    });
}

}  // namespace

request_step read_request(std::string_view bytes, const request_limits& limits) {
    // An empty line before the request line is skipped (RFC 9112, 2.2).
    std::size_t skipped = 0;
    while (skipped < 4 && bytes.substr(skipped).starts_with("\r\n")) skipped += 2;
    bytes.remove_prefix(skipped);

    const auto end = bytes.find("\r\n\r\n");
    const auto size = end == std::string_view::npos ? bytes.size() : end + 4;
    // In the order in which they show as bytes come, so that the outcome does not hang on how they were cut.
    const auto line_max = limits.target_bytes_max + 16;
    const auto line = bytes.substr(0, std::min(bytes.find('\n'), size));
    if (hopeless(line.substr(0, line_max))) return bad_request("This is not HTTP.");
    if (line.size() > line_max) return target_too_long(limits.target_bytes_max);
    if (bytes.substr(0, std::min(size, limits.header_bytes_max)).find("\n\n") !=
        std::string_view::npos)
        return bad_request("Lines end with CR and LF.");
    if (size > limits.header_bytes_max)
        return problem{.kind = problem_kind::header_too_large,
                       .detail = "At most " + std::to_string(limits.header_bytes_max) + " bytes."};
    if (end == std::string_view::npos) return need_more{};

    // RFC 9112, 5.2: refused, or every reader must make the same blanks of it.
    const auto header = bytes.substr(0, size);
    if (header.find("\r\n ") != std::string_view::npos ||
        header.find("\r\n\t") != std::string_view::npos)
        return bad_request("A header line must not be folded.");

    request_read out;
    out.bytes = skipped + size;
    header_reader reader(out.request);
    reader.header_limit(static_cast<std::uint32_t>(limits.header_bytes_max + 1));
    reader.body_limit(boost::none);
    boost::beast::error_code ec;
    reader.put(boost::asio::const_buffer(bytes.data(), size), ec);
    if (ec && ec != http::error::need_more) return refused(ec);
    if (!reader.is_header_done()) return bad_request("The header does not parse.");
    if (out.request.target.size() > limits.target_bytes_max)
        return target_too_long(limits.target_bytes_max);
    const auto length = reader.content_length();
    out.request.has_body = reader.chunked() || (length && *length > 0);
    out.request.keep_alive = reader.keep_alive();
    // Fields that only another HTTP/1.1 reads differently are the way to smuggle a request (RFC 9112, 6.1).
    if (reader.coded_without_end())
        return bad_request(
            "Where a body ends is not known: Transfer-Encoding must end in chunked.");
    if (reader.chunked() && out.request.version < 11)
        return bad_request("HTTP/1.0 has no chunked bodies.");
    return out;
}

}  // namespace litefeed::server
