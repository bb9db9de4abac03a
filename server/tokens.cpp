#include "server/tokens.hpp"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/errc.hpp"

namespace litefeed::server {
namespace {

constexpr std::chrono::seconds look_every{1};
// 16 characters of base64 are 96 bits, of hex 64: nobody guesses them over a network. Longer than 512 fits no cookie well.
constexpr std::size_t token_chars_min = 16, token_chars_max = 512;
constexpr std::size_t file_bytes_max = 64 * 1024;

constexpr std::string_view blanks = " \t\r";

/// The next word of a line, taken off its front; empty at its end.
std::string_view take_word(std::string_view& line) {
    const auto begin = std::min(line.find_first_not_of(blanks), line.size());
    const auto end = std::min(line.find_first_of(blanks, begin), line.size());
    const auto word = line.substr(begin, end - begin);
    line.remove_prefix(end);
    return word;
}

/// b64token of RFC 6750, 2.1: what a Bearer header carries without quotes.
bool is_b64token(std::string_view text) {
    const auto end = text.find_last_not_of('=');
    if (end == std::string_view::npos) return false;
    return std::all_of(
        text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end) + 1, [](char c) {
            return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                   std::string_view("-._~+/").find(c) != std::string_view::npos;
        });
}

/// Why `text` is no token; empty when it is one.
std::string why_no_token(std::string_view text) {
    if (!is_b64token(text))
        return "a token is made of letters, digits and -._~+/, with = at its end only; "
               "`openssl rand -hex 32` makes one";
    if (text.size() < token_chars_min)
        return "a token has at least " + std::to_string(token_chars_min) +
               " characters, since a shorter one can be guessed; `openssl rand -hex 32` makes one";
    if (text.size() > token_chars_max)
        return "a token has at most " + std::to_string(token_chars_max) + " characters";
    return {};
}

bool same_secret(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) return false;
    volatile unsigned char differs = 0;  // volatile: no compiler may stop at the first difference
    for (std::size_t i = 0; i < a.size(); ++i)
        differs = static_cast<unsigned char>(differs | (a[i] ^ b[i]));
    return differs == 0;
}

struct file_text {
    std::string text;
    mode_t mode = 0;
};

/// Throws `cannot`.
file_text read_file(const std::string& path) {
    const auto failed = [] {
        return cannot(std::string("it cannot be read: ") + std::strerror(errno));
    };
    // A pipe must not hold a loop until somebody writes to it.
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) throw failed();
    struct closer {
        int fd;
        ~closer() { ::close(fd); }
    } const closes{fd};
    struct stat about{};
    if (::fstat(fd, &about) != 0) throw failed();
    if (!S_ISREG(about.st_mode)) throw cannot("it is no regular file");
    file_text out{.text = std::string(file_bytes_max + 1, '\0'), .mode = about.st_mode};
    std::size_t size = 0;
    while (size < out.text.size()) {
        const auto n = ::read(fd, out.text.data() + size, out.text.size() - size);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) throw failed();
        if (n == 0) break;
        size += static_cast<std::size_t>(n);
    }
    if (size > file_bytes_max)
        throw cannot("it is longer than " + std::to_string(file_bytes_max) + " bytes");
    out.text.resize(size);
    return out;
}

void warn_if_open(const std::string& path, mode_t mode) {
    if ((mode & 077) != 0)
        spdlog::warn("the token file {} is open to other users (mode {:04o}): chmod 600 {}", path,
                     static_cast<unsigned>(mode & 07777), path);
}

}  // namespace

boost::system::result<token_list, std::string> parse_tokens(std::string_view text) {
    token_list out;
    std::vector<std::size_t> line_of;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const auto end = text.find('\n');
        auto line = text.substr(0, end);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        line = line.substr(0, line.find('#'));
        const auto kind = take_word(line), secret = take_word(line);
        if (kind.empty()) continue;
        const auto wrong = [&](const std::string& what) {
            return "line " + std::to_string(number) + ": " + what;
        };
        if ((kind != "read" && kind != "admin") || secret.empty() || !take_word(line).empty())
            return wrong("write `read TOKEN` or `admin TOKEN`, one a line");
        if (const auto why = why_no_token(secret); !why.empty()) return wrong(why);
        for (std::size_t i = 0; i < out.size(); ++i)
            if (out[i].text == secret)
                return wrong("this token stands on line " + std::to_string(line_of[i]) +
                             " already");
        out.push_back({.text = std::string(secret)});
        line_of.push_back(number);
    }
    return out;
}

const token* find_token(const token_list& list, std::string_view given) {
    const token* found = nullptr;
    for (const auto& t : list)
        if (same_secret(t.text, given)) found = &t;
    return found;
}

bool has_token(const token_list& list, std::uint32_t id) {
    return std::any_of(list.begin(), list.end(), [&](const token& t) { return t.id == id; });
}

token_file::token_file(std::string path) : path_(std::move(path)) {
    try {
        read_again();
    } catch (const cannot& why) {
        throw cannot("the token file " + path_ + ": " + why.what());
    }
}

/// The tokens that stay keep their numbers.
void token_file::take(token_list fresh) {
    for (auto& t : fresh) {
        const auto* known = tokens_ ? find_token(*tokens_, t.text) : nullptr;
        t.id = known != nullptr ? known->id : ++last_id_;
    }
    tokens_ = std::make_shared<const token_list>(std::move(fresh));
}

void token_file::read_again() {
    read_at_ = std::chrono::steady_clock::now();
    auto read = read_file(path_);
    if (tokens_ && read.text == text_ && trouble_.empty()) return;
    auto fresh = parse_tokens(read.text);
    if (!fresh) throw cannot(fresh.error());
    // An editor may have cut the file and not have written it yet.
    if (fresh->empty() && !std::exchange(empty_before_, true))
        throw cannot("it holds no token; write `read TOKEN` or `admin TOKEN`, one a line");
    empty_before_ = fresh->empty();
    warn_if_open(path_, read.mode);
    text_ = std::move(read.text);
    take(std::move(*fresh));
}

std::shared_ptr<const token_list> token_file::look() {
    const std::lock_guard lock(mutex_);
    if (std::chrono::steady_clock::now() - read_at_ < look_every) return tokens_;
    const auto before = tokens_;
    try {
        read_again();
        trouble_.clear();
    } catch (const cannot& why) {
        if (trouble_ != why.what())
            spdlog::error("the token file {}: {}; the tokens from before stay", path_, why.what());
        trouble_ = why.what();
    }
    if (tokens_ == before) return tokens_;
    const auto gone = std::count_if(before->begin(), before->end(),
                                    [&](const token& t) { return !has_token(*tokens_, t.id); });
    spdlog::info("the token file {} was read again: {} tokens, {} taken away", path_,
                 tokens_->size(), gone);
    if (tokens_->empty()) spdlog::warn("the token file {} holds no token: nobody is let in", path_);
    return tokens_;
}

}  // namespace litefeed::server
