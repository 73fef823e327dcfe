#include "tests/source_dir.h"

namespace gcoord {

std::string in_sources(const char* file) {
  return std::string(GCOORD_SOURCE_DIR "/") + file;
}

}  // namespace gcoord
