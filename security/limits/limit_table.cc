#include "security/limits/limit_table.h"

#include "common/text/printable.h"
#include "security/limits/network.h"

#include <algorithm>

namespace gcoord::security {

namespace {

// As limit_cpu.cc writes them, without their texts.
constexpr std::size_t kLimitFixedBytes = 1 + 2 + 7 * 4 + 8;
// Only where there is one: earlier releases count rows without it, and must come to the same sum.
constexpr std::size_t kSessionTtlBytes = 4;
constexpr std::size_t kPruneFixedBytes = 1 + 4 + 4 * 8 + 2 * (8 + 2);
constexpr std::size_t kDenialFixedBytes = 1 + 2 + 8 + 2;

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= kDenialNameBytesMax && is_printable(name);
}

bool is_canonical_network(std::string_view name) {
  const auto network = parse_network(name);
  return network && to_string(*network) == name;
}

bool is_serial(std::string_view name) {
  return name.size() <= kDenialNameBytesMax && !name.empty() &&
         std::ranges::all_of(name, [](char each) {
           return (each >= '0' && each <= '9') || (each >= 'A' && each <= 'F');
         });
}

bool is_rate(const Limit& limit) {
  return limit.rate <= kRateMax && limit.burst <= kRateMax &&
         (limit.rate == 0) == (limit.burst == 0);
}

bool is_session_ttl(std::uint32_t ttl_ms) {
  return ttl_ms == 0 || (ttl_ms >= kSessionTtlMsMin && ttl_ms <= kSessionTtlMsMax);
}

}  // namespace

bool has_safeguards(const LimitTable& table) {
  return !table.prunes.empty() || std::ranges::any_of(table.limits, [](const auto& row) {
    return row.second.session_ttl_ms != 0;
  });
}

bool is_limit(LimitScope scope, std::string_view name, const Limit& limit) {
  if (!is_rate(limit) || !is_session_ttl(limit.session_ttl_ms)) {
    return false;
  }
  switch (scope) {
    case LimitScope::Principal:
      return is_name(name);
    case LimitScope::Prefix:
      return !name.empty() && name.size() <= kLimitNameBytesMax && limit.rate != 0 &&
             limit == Limit{.rate = limit.rate, .burst = limit.burst};
    case LimitScope::Network:
      return is_canonical_network(name) && limit.connections != 0 &&
             limit == Limit{.connections = limit.connections};
  }
  return false;
}

bool is_denial(DenialScope scope, std::string_view name) {
  switch (scope) {
    case DenialScope::Principal:
    case DenialScope::CertificateName:
      return is_name(name);
    case DenialScope::Serial:
      return is_serial(name);
    case DenialScope::Network:
      return is_canonical_network(name) && !parse_network(name)->has_loopback();
  }
  return false;
}

bool is_prune(const PruneBounds& bounds, const PruneOrder& order) {
  const bool bounded = (bounds.below | bounds.entries | bounds.bytes | bounds.age_ms) != 0;
  const bool named = is_name(order.who) && order.ordered_ms < (std::uint64_t{1} << 48);
  const bool second = order.is_confirmed()
                          ? is_name(order.confirmed_by) && order.confirmed_by != order.who &&
                                order.confirmed_ms < (std::uint64_t{1} << 48)
                          : order.confirmed_ms == 0;
  return bounded && bounds.log <= 1 && named && second;
}

std::size_t row_bytes(const LimitTable& table) {
  std::size_t bytes = 0;
  for (const auto& [key, limit] : table.limits) {
    bytes += kLimitFixedBytes + key.name.size();
    bytes += limit.session_ttl_ms != 0 ? kSessionTtlBytes : 0;
  }
  for (const auto& [key, denial] : table.denials) {
    bytes += kDenialFixedBytes + key.name.size() + denial.reason.size();
  }
  for (const auto& [bounds, order] : table.prunes) {
    bytes += kPruneFixedBytes + order.who.size() + order.confirmed_by.size();
  }
  return bytes;
}

}  // namespace gcoord::security
