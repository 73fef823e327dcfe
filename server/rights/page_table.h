// Table of the rights that pages of a node's HTTP ports demand.
//
// docs/reference/rights.md shows it; a test compares. A path belongs to the first row of its port
// that it matches. Pure; any thread.
#pragma once

#include "security/roles/rights.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace gcoord::server {

enum class HttpPort : std::uint8_t { Metrics, Ledger };

struct PageRow {
  HttpPort port{};
  // A path, or with '*' at its end all that begin so. "#" is a decimal number.
  std::string_view path;
  std::optional<security::Right> right;  // None: everybody may read it.
};

std::span<const PageRow> page_table();

// The right that a path of the port demands; nothing: everybody may read it.
std::optional<security::Right> page_right(HttpPort port, std::string_view path);

}  // namespace gcoord::server
