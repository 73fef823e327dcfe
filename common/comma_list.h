// A list as programs and options take it.
#pragma once

#include <span>
#include <string>

namespace gcoord {

// "a,b,c"; empty for none.
inline std::string comma_list(std::span<const std::string> parts) {
  std::string list;
  for (const std::string& part : parts) {
    list += (list.empty() ? "" : ",") + part;
  }
  return list;
}

}  // namespace gcoord
