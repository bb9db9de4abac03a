// The bytes of a key inside a page cursor. Whatever decodes as a whole key encodes to the same bytes again (NULLs at the
// end aside, which are left out), and each beginning of them decodes to the beginning of that key.
#include <algorithm>
#include <cassert>

#include "core/value.hpp"

using namespace litefeed;

namespace {

// What a cut key holds of a value: a text or a blob as far as it goes.
bool begins(const value& whole, const value& part) {
    if (const auto* text = std::get_if<std::string>(&part))
        return std::get<std::string>(whole).starts_with(*text);
    if (const auto* blob = std::get_if<blob_bytes>(&part))
        return std::get<blob_bytes>(whole).bytes.starts_with(blob->bytes);
    return whole == part;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string bytes(reinterpret_cast<const char*>(data), size);
    row_key key;
    bool cut = true;
    if (!decode(bytes, key, cut) || cut) return 0;
    const auto nulls =
        std::find_if(key.rbegin(), key.rend(), [](const value& v) { return v.index() != 0; }) -
        key.rbegin();
    assert(encode(key) + std::string(static_cast<std::size_t>(nulls), '\0') == bytes);

    for (std::size_t kept = 0; kept < size && kept < 300; ++kept) {
        row_key part;
        assert(decode(std::string_view(bytes).substr(0, kept), part, cut));
        assert(part.size() <= key.size());
        for (std::size_t i = 0; i < part.size(); ++i) {
            const bool last = i + 1 == part.size();
            assert(last && cut ? begins(key[i], part[i]) : key[i] == part[i]);
        }
    }
    return 0;
}
