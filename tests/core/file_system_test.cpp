#include "core/file_system.hpp"

#include <doctest/doctest.h>

using namespace litefeed;

TEST_SUITE_BEGIN("core/file_system");

TEST_CASE("what other machines may share is known by its number, what is local is not") {
    for (const std::int64_t magic : {0x6969LL, 0x517bLL, 0xff534d42LL, 0xfe534d42LL, 0x65735546LL,
                                     0x01021997LL, 0x00c36400LL, 0x786f4256LL})
        CHECK_FALSE(network_file_system(magic).empty());
    // ext4, tmpfs, xfs, btrfs, overlayfs, zfs, f2fs, ramfs
    for (const std::int64_t magic : {0xef53LL, 0x01021994LL, 0x58465342LL, 0x9123683eLL,
                                     0x794c7630LL, 0x2fc12fc1LL, 0xf2f52010LL, 0x858458f6LL, 0LL})
        CHECK(network_file_system(magic).empty());
}

TEST_CASE("a number that was widened with its sign is the same number") {
    CHECK(network_file_system(static_cast<std::int32_t>(0xff534d42)) == "CIFS");
}

TEST_CASE("a path that is not there is on no network") {
    CHECK(network_file_system_of("/nowhere/at/all").empty());
    CHECK(network_file_system_of("/proc").empty());
}

TEST_SUITE_END();
