// Flags that the kernel keeps of this process's memory: whether an address wants huge pages.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>

namespace gcoord {

inline bool has_huge_pages() {
  return ::access("/sys/kernel/mm/transparent_hugepage/enabled", R_OK) == 0;
}

// By /proc/self/smaps: the mapping with the address has the flag "hg".
inline bool wants_huge_pages(const std::byte* address) {
  std::ifstream maps("/proc/self/smaps");
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    char dash = 0;
    if (words >> std::hex >> begin >> dash >> end && dash == '-') {
      inside = begin <= wanted && wanted < end;
    } else if (inside && line.starts_with("VmFlags:")) {
      return (line + ' ').find(" hg ") != std::string::npos;
    }
  }
  return false;
}

}  // namespace gcoord
