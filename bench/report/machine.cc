#include "bench/report/machine.h"

#include "bench/report/latencies.h"
#include "common/host/child_process.h"

#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cmath>
#include <fstream>
#include <string>
#include <thread>

namespace gcoord::bench {

namespace {

constexpr int kSyncedWrites = 200;

// The text behind "key :" in a file such as /proc/cpuinfo; empty when there is none.
std::string value_in(const char* file, const std::string& key) {
  std::ifstream in{file};
  for (std::string line; std::getline(in, line);) {
    const std::size_t colon = line.find(':');
    if (line.rfind(key, 0) == 0 && colon != std::string::npos) {
      const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
      return begin == std::string::npos ? std::string{} : line.substr(begin);
    }
  }
  return {};
}

double memory_gib() {
  const double kilobytes = std::strtod(value_in("/proc/meminfo", "MemTotal").c_str(), nullptr);
  return std::round(kilobytes / 1024 / 1024 * 10) / 10;
}

// Overwrites one block that is already there, as a preallocated log does.
double synced_write_ms(const std::filesystem::path& directory) {
  const std::filesystem::path file = directory / "synced-write";
  const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) {
    return 0;
  }
  const std::array<char, 4096> block{};
  Latencies latencies;
  for (int count = 0; count < kSyncedWrites; ++count) {
    const auto began = std::chrono::steady_clock::now();
    if (::pwrite(fd, block.data(), block.size(), 0) < 0 || ::fdatasync(fd) != 0) {
      break;
    }
    latencies.add(std::chrono::steady_clock::now() - began);
  }
  ::close(fd);
  std::error_code ignored;
  std::filesystem::remove(file, ignored);
  return latencies.at_ms(0.5);
}

std::string commit() {
  ChildOptions git;
  git.arguments = {"git", "rev-parse", "--short=12", "HEAD"};
  git.capture_output = true;
  git.error_file = "/dev/null";
  auto child = ChildProcess::start(git);
  if (!child.ok()) {
    return {};
  }
  return child.value().read_line(std::chrono::seconds{5}).value_or("");
}

}  // namespace

Json describe_machine(const std::filesystem::path& directory) {
  utsname system{};
  ::uname(&system);
  return {{"cores", std::thread::hardware_concurrency()},
          {"cpu", value_in("/proc/cpuinfo", "model name")},
          {"memory_gib", memory_gib()},
          {"kernel", system.release},
          {"synced_write_ms_p50", synced_write_ms(directory)},
          {"commit", commit()}};
}

}  // namespace gcoord::bench
