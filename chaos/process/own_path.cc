#include "chaos/process/own_path.h"

#include <system_error>

namespace gcoord::chaos {

std::filesystem::path own_path() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored);
}

std::filesystem::path program_beside(std::string_view name) {
  return own_path().parent_path() / name;
}

}  // namespace gcoord::chaos
