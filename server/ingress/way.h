// The way of a client's command into the log: who made its entries, or why nobody did beforehand.
//
// Labels of a metric. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gcoord::server {

enum class IngressWay : std::uint8_t {
  Prepared = 0,  // An I/O thread judged it, hashed its name and wrote its entries.
  Checked = 1,   // It judged it and hashed its name; the log of a host keeps no entries.
  LongName = 2,  // The same, and its name fills more pieces than are kept for a request.
  // The loop's thread did all: it serves the socket itself, or more came than is prepared of a
  // read.
  Loop = 3,
  OtherKind = 4,  // The same, of a kind that no I/O thread prepares.
};

inline constexpr std::size_t kIngressWays = 5;

// "prepared", "long_name" and the like.
constexpr std::string_view ingress_way_name(IngressWay way) {
  constexpr std::string_view kNames[kIngressWays] = {
      "prepared", "checked", "long_name", "loop", "other_kind"};
  return kNames[static_cast<std::size_t>(way)];
}

}  // namespace gcoord::server
