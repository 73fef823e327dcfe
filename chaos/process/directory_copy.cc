#include "chaos/process/directory_copy.h"

namespace gcoord::chaos {

namespace fs = std::filesystem;

std::error_code copy_directory(const fs::path& from, const fs::path& to) {
  std::error_code failed;
  fs::create_directory(to, from, failed);
  for (fs::directory_iterator each(from, failed), end; !failed && each != end;
       each.increment(failed)) {
    const fs::path target = to / each->path().filename();
    if (each->is_directory(failed)) {
      failed = copy_directory(each->path(), target);
    } else if (!each->is_socket(failed)) {
      fs::copy(each->path(), target, failed);
    }
    if (failed) {
      return failed;
    }
  }
  return failed;
}

}  // namespace gcoord::chaos
