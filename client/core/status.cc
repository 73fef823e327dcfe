#include "gcoord/status.h"

#include "common/status.h"

namespace gcoord::client {

std::string Status::to_string() const {
  if (ok()) {
    return "OK";
  }
  std::string text{gcoord::status_code_name(static_cast<gcoord::StatusCode>(code_))};
  text += ": " + message_;
  if (detail_ != 0) {
    text += " (GC" + std::to_string(detail_) + ")";
  }
  return text;
}

}  // namespace gcoord::client
