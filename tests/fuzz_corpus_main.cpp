// Runs a fuzzer over the folders named on its command line, without libFuzzer: its corpus is a test in every build.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int main(int argc, char** argv) {
    std::size_t inputs = 0;
    for (int at = 1; at < argc; ++at) {
        for (const auto& entry : std::filesystem::directory_iterator(argv[at])) {
            std::cout << entry.path().string()
                      << std::endl;  // flushed: an input that aborts is the last one named
            std::ifstream file(entry.path(), std::ios::binary);
            const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
            LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                   bytes.size());
            ++inputs;
        }
    }
    std::cout << inputs << " inputs\n";
    return inputs ? EXIT_SUCCESS : EXIT_FAILURE;
}
