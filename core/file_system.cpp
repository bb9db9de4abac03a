#include "core/file_system.hpp"

#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <utility>

namespace litefeed {

std::string_view network_file_system(std::int64_t magic) {
    // statfs(2) and linux/magic.h. FUSE is sshfs, virtiofs and the like; few of its file systems are local.
    static constexpr std::array<std::pair<std::int64_t, std::string_view>, 17> known{{
        {0x6969, "NFS"},
        {0x517b, "SMB"},
        {0xff534d42, "CIFS"},
        {0xfe534d42, "SMB2"},
        {0x65735546, "FUSE"},
        {0x01021997, "9p"},
        {0x5346414f, "AFS"},
        {0x6b414653, "AFS"},
        {0x73757245, "Coda"},
        {0x00c36400, "Ceph"},
        {0x0bd00bd0, "Lustre"},
        {0x47504653, "GPFS"},
        {0x01161970, "GFS2"},
        {0x7461636f, "OCFS2"},
        {0x19830326, "BeeGFS"},
        {0x786f4256, "vboxsf"},
        {0xbacbacbc, "vmhgfs"},
    }};
    // f_type is signed and of the machine's width: only its low half is the number.
    const auto wanted = magic & 0xffffffff;
    const auto* found =
        std::find_if(known.begin(), known.end(), [&](const auto& k) { return k.first == wanted; });
    return found == known.end() ? std::string_view() : found->second;
}

std::string network_file_system_of(const std::string& path) {
    struct statfs of{};
    if (::statfs(path.c_str(), &of) != 0) return {};
    return std::string(network_file_system(static_cast<std::int64_t>(of.f_type)));
}

}  // namespace litefeed
