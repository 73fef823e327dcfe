// Setters that many options share: each judges a text and stores what it says in one member.
#pragma once
#include "common/status.h"
#include "common/text/duration.h"
#include "protocol/limits.h"
#include "server/options/options.h"
#include "server/platform/endpoint_name.h"

#include <charconv>
#include <string>
#include <string_view>

namespace gcoord::server::setters {

inline constexpr std::uint32_t kDayMs = protocol::kTtlMsMax;
inline constexpr std::uint32_t kRowsMax = 1u << 28;

inline Status wrong(std::string message) {
  return Status{StatusCode::InvalidArgument, std::move(message)};
}

inline Status apply_number(const std::string& text,
                           std::uint64_t lowest,
                           std::uint64_t highest,
                           std::uint64_t& out) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  if (!whole || number < lowest || number > highest) {
    return wrong("'" + text + "' is not a whole number from " + std::to_string(lowest) + " to " +
                 std::to_string(highest));
  }
  out = number;
  return Status{};
}

// A setter for an unsigned 32-bit member with a range.
template <std::uint32_t NodeOptions::*member, std::uint32_t lowest, std::uint32_t highest>
Status number(const std::string& text, NodeOptions& options) {
  std::uint64_t value = 0;
  GCOORD_TRY_STATUS(apply_number(text, lowest, highest, value));
  options.*member = static_cast<std::uint32_t>(value);
  return Status{};
}

// A time with a unit (common/text/duration.h).
template <std::uint32_t NodeOptions::*member, std::uint32_t lowest, std::uint32_t highest>
Status duration(const std::string& text, NodeOptions& options) {
  const auto ms = parse_milliseconds(text);
  if (!ms.has_value() || *ms < lowest || *ms > highest) {
    return wrong("'" + text + "' is not a time from " + std::to_string(lowest) + "ms to " +
                 std::to_string(highest) + "ms; write it with a unit: 500ms, 1.5s, 1h30m or 1d");
  }
  options.*member = static_cast<std::uint32_t>(*ms);
  return Status{};
}

// "512MiB", "1GiB"; a bare number is bytes.
template <std::uint64_t NodeOptions::*member, std::uint64_t lowest, std::uint64_t highest>
Status memory(const std::string& text, NodeOptions& options) {
  std::uint64_t amount = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), amount);
  const std::string_view unit{end, static_cast<std::size_t>(text.data() + text.size() - end)};
  const bool known = unit.empty() || unit == "KiB" || unit == "MiB" || unit == "GiB";
  const unsigned shift = unit == "KiB" ? 10 : unit == "MiB" ? 20 : unit == "GiB" ? 30 : 0;
  const bool sane = error == std::errc{} && known && amount <= (highest >> shift);
  if (!sane || amount << shift < lowest) {
    return wrong("'" + text + "' is not a size from " + std::to_string(lowest >> 20) + "MiB to " +
                 std::to_string(highest >> 30) + "GiB; units are KiB, MiB and GiB");
  }
  options.*member = amount << shift;
  return Status{};
}

template <Endpoint NodeOptions::*member>
Status endpoint(const std::string& text, NodeOptions& options) {
  auto parsed = parse_endpoint(text, PortZero::Allowed);
  if (!parsed.ok()) {
    return parsed.status();
  }
  options.*member = std::move(parsed).value();
  return Status{};
}

// One that others are given: never with port 0.
template <Endpoint NodeOptions::*member>
Status advertised(const std::string& text, NodeOptions& options) {
  GCOORD_TRY(options.*member, parse_endpoint(text));
  return Status{};
}

template <Endpoint NodeOptions::*member>
Status endpoint_or_off(const std::string& text, NodeOptions& options) {
  if (text == "off") {
    options.*member = Endpoint{};
    return Status{};
  }
  return endpoint<member>(text, options);
}

template <std::string NodeOptions::*member>
Status path(const std::string& text, NodeOptions& options) {
  if (text.empty() || text.find('\0') != std::string::npos) {
    return wrong("the path is empty or has a zero byte");
  }
  options.*member = text;
  return Status{};
}

template <bool NodeOptions::*field>
Status flag(const std::string& text, NodeOptions& options) {
  if (text != "true" && text != "false") {
    return wrong("'" + text + "' is neither true nor false");
  }
  options.*field = text == "true";
  return Status{};
}

}  // namespace gcoord::server::setters
