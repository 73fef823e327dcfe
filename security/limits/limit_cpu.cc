#include "security/limits/limit_cpu.h"

#include "common/bytes.h"

#include <algorithm>
#include <utility>

namespace gcoord::security {

namespace {

// Version 2: each limit has its longest TTL of sessions, 4, behind it, and orders to prune are
// behind the denials. Only where there is one of either, so that earlier releases read what they
// can.
constexpr std::uint8_t kVersion = 1;
constexpr std::uint8_t kSafeguardVersion = 2;

std::uint8_t version_of(const LimitTable& table) {
  return has_safeguards(table) ? kSafeguardVersion : kVersion;
}

// The least that a row takes.
constexpr std::size_t kLimitBytesMin = 1 + 2 + 1 + 7 * 4 + 8;
constexpr std::size_t kDenialBytesMin = 1 + 2 + 1 + 8 + 2;

template <typename Rows>
bool add_row(Rows& rows, typename Rows::key_type key, typename Rows::mapped_type row) {
  if (!rows.empty() && !(rows.rbegin()->first < key)) {
    return false;
  }
  rows.emplace_hint(rows.end(), std::move(key), std::move(row));
  return true;
}

bool read_limits(ByteReader& reader, std::uint8_t version, LimitTable& table) {
  const std::uint32_t count = reader.count(kLimitBytesMin, kLimitsMax);
  for (std::uint32_t k = 0; k < count; ++k) {
    const auto scope = static_cast<LimitScope>(reader.integer<std::uint8_t>());
    std::string name{reader.text(kLimitNameBytesMax)};
    Limit limit = read_limit(reader);
    if (version == kSafeguardVersion) {
      limit.session_ttl_ms = reader.integer<std::uint32_t>();
    }
    if (!reader.ok() || !is_limit(scope, name, limit) ||
        !add_row(table.limits, {scope, std::move(name)}, limit)) {
      return false;
    }
  }
  return reader.ok();
}

bool read_denials(ByteReader& reader, LimitTable& table) {
  const std::uint32_t count = reader.count(kDenialBytesMin, kDenialsMax);
  for (std::uint32_t k = 0; k < count; ++k) {
    const auto scope = static_cast<DenialScope>(reader.integer<std::uint8_t>());
    std::string name{reader.text(kDenialNameBytesMax)};
    Denial denial = read_denial(reader);
    if (!reader.ok() || !is_denial(scope, name) ||
        !add_row(table.denials, {scope, std::move(name)}, std::move(denial))) {
      return false;
    }
  }
  return reader.ok();
}

constexpr std::size_t kPruneBytesMin = 1 + 4 + 4 * 8 + 2 * (8 + 2);

void write_prunes(ByteWriter& writer, const LimitTable& table) {
  writer.integer(static_cast<std::uint32_t>(table.prunes.size()));
  for (const auto& [bounds, order] : table.prunes) {
    writer.integer(bounds.log);
    write_prune(writer, bounds);
    writer.text(order.who);
    writer.integer(order.ordered_ms);
    writer.text(order.confirmed_by);
    writer.integer(order.confirmed_ms);
  }
}

bool read_prunes(ByteReader& reader, LimitTable& table) {
  const std::uint32_t count = reader.count(kPruneBytesMin, kPruneOrdersMax);
  for (std::uint32_t k = 0; k < count; ++k) {
    PruneBounds bounds;
    bounds.log = reader.integer<std::uint8_t>();
    read_prune(reader, bounds);
    PruneOrder order;
    order.who = reader.text(kPruneWhoBytesMax);
    order.ordered_ms = reader.integer<std::uint64_t>();
    order.confirmed_by = reader.text(kPruneWhoBytesMax);
    order.confirmed_ms = reader.integer<std::uint64_t>();
    if (!reader.ok() || !is_prune(bounds, order) ||
        !add_row(table.prunes, bounds, std::move(order))) {
      return false;
    }
  }
  return reader.ok();
}

bool is_sound(const LimitTable& table) {
  return table.epoch != 0 && row_bytes(table) <= kLimitTableBytesMax &&
         table.numbers.size() == std::min<std::uint64_t>(table.epoch, kLimitChangesKept);
}

}  // namespace

LimitCode LimitCpu::apply(std::span<const std::byte> command) {
  const auto decoded = decode_limit_command(command);
  return decoded ? security::apply(table_, *decoded) : LimitCode::Malformed;
}

LimitCode LimitCpu::preview(const LimitCommand& command) const {
  LimitTable table = table_;
  return security::apply(table, command);
}

std::optional<std::uint64_t> LimitCpu::made_by(std::uint64_t number) const {
  const auto& numbers = table_.numbers;
  const auto found = std::find(numbers.rbegin(), numbers.rend(), number);
  if (number == 0 || found == numbers.rend()) {
    return std::nullopt;
  }
  return table_.epoch - static_cast<std::uint64_t>(found - numbers.rbegin());
}

void LimitCpu::serialize(std::vector<std::byte>& bytes) const {
  if (is_empty()) {
    return;
  }
  ByteWriter writer{bytes};
  const std::uint8_t version = version_of(table_);
  writer.integer(version);
  writer.integer(table_.epoch);
  writer.integer(static_cast<std::uint32_t>(table_.numbers.size()));
  for (const std::uint64_t number : table_.numbers) {
    writer.integer(number);
  }
  writer.integer(static_cast<std::uint32_t>(table_.limits.size()));
  for (const auto& [key, limit] : table_.limits) {
    writer.integer(static_cast<std::uint8_t>(key.scope));
    writer.text(key.name);
    write_limit(writer, limit);
    if (version == kSafeguardVersion) {
      writer.integer(limit.session_ttl_ms);
    }
  }
  writer.integer(static_cast<std::uint32_t>(table_.denials.size()));
  for (const auto& [key, denial] : table_.denials) {
    writer.integer(static_cast<std::uint8_t>(key.scope));
    writer.text(key.name);
    write_denial(writer, denial);
  }
  if (version == kSafeguardVersion) {
    write_prunes(writer, table_);
  }
}

std::optional<LimitCpu> LimitCpu::parse(std::span<const std::byte> bytes) {
  LimitCpu state;
  if (bytes.empty()) {
    return state;
  }
  ByteReader reader{bytes};
  LimitTable& table = state.table_;
  const auto version = reader.integer<std::uint8_t>();
  table.epoch = reader.integer<std::uint64_t>();
  const std::uint32_t numbers = reader.count(sizeof(std::uint64_t), kLimitChangesKept);
  for (std::uint32_t k = 0; k < numbers; ++k) {
    table.numbers.push_back(reader.integer<std::uint64_t>());
  }
  const bool whole = read_limits(reader, version, table) && read_denials(reader, table) &&
                     (version != kSafeguardVersion || read_prunes(reader, table)) &&
                     reader.complete() && is_sound(table) && version == version_of(table);
  return whole ? std::optional(std::move(state)) : std::nullopt;
}

}  // namespace gcoord::security
