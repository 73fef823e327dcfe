#include "cli/bench/text_file.h"

#include "protocol/error_codes.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace gcoord::cli {

Status check_writable(const std::string& option, const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "ae");
  if (file == nullptr) {
    return protocol::make_error(
        protocol::ErrorCode::OptionInvalid,
        option + " '" + path + "' cannot be written: " + std::strerror(errno));
  }
  static_cast<void>(std::fclose(file));
  return {};
}

Status write_text(const std::string& path, const std::string& text) {
  std::FILE* file = std::fopen(path.c_str(), "we");
  bool written = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = file != nullptr && std::fclose(file) == 0;
  return written && closed ? Status{}
                           : Status{StatusCode::Unavailable,
                                    "'" + path + "' was not written: " + std::strerror(errno)};
}

}  // namespace gcoord::cli
