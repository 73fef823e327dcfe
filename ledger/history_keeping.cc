#include "ledger/history_keeping.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <utility>

namespace gcoord::ledger {
namespace {

// Shards of one look, and tiles of one shard that are read for their age: some milliseconds.
constexpr std::uint32_t kShardsPerLook = 4096;
constexpr std::uint32_t kTilesPerLook = 64;

using Unit = std::pair<std::string_view, std::uint64_t>;

constexpr std::array<Unit, 1> kEntryUnits = {{{"", 1}}};
constexpr std::array<Unit, 5> kByteUnits = {{{"TiB", std::uint64_t{1} << 40},
                                             {"GiB", std::uint64_t{1} << 30},
                                             {"MiB", std::uint64_t{1} << 20},
                                             {"KiB", std::uint64_t{1} << 10},
                                             {"", 1}}};
constexpr std::array<Unit, 4> kAgeUnits = {
    {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1000}}};

Status invalid(std::string_view text) {
  return {StatusCode::InvalidArgument,
          "\"" + std::string(text) +
              "\" is none of all, entries:N, bytes:N[KiB|MiB|GiB|TiB], age:N(s|m|h|d)"};
}

Status parse_number(std::string_view text, std::span<const Unit> units, std::uint64_t& value) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
  const auto unit = std::find_if(
      units.begin(), units.end(), [rest](const Unit& each) { return each.first == rest; });
  if (error != std::errc{} || number == 0 || unit == units.end() ||
      number > std::numeric_limits<std::uint64_t>::max() / unit->second) {
    return invalid(text);
  }
  value = number * unit->second;
  return {};
}

Status parse_bound(std::string_view text, KeepPolicy& policy) {
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  const std::string_view number = colon == text.npos ? "" : text.substr(colon + 1);
  if (name == "entries") {
    return parse_number(number, kEntryUnits, policy.entries);
  }
  if (name == "bytes") {
    return parse_number(number, kByteUnits, policy.bytes);
  }
  return name == "age" ? parse_number(number, kAgeUnits, policy.age_ms) : invalid(text);
}

std::string number_text(std::uint64_t value, std::span<const Unit> units) {
  const auto unit = std::find_if(
      units.begin(), units.end(), [value](const Unit& each) { return value % each.second == 0; });
  return std::to_string(value / unit->second) + std::string(unit->first);
}

// When the newest entry of a tile that says it was made; 0: none does.
std::uint64_t newest_ms(const TileEntries& entries,
                        const std::function<std::uint64_t(std::span<const std::byte>)>& entry_ms) {
  std::uint64_t newest = 0;
  for (const auto& entry : entries) {
    newest = std::max(newest, entry ? entry_ms(*entry) : 0);
  }
  return newest;
}

}  // namespace

Result<KeepPolicy> parse_keep_policy(std::string_view text) {
  KeepPolicy policy;
  if (text == "all") {
    return policy;
  }
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    GCOORD_TRY_STATUS(parse_bound(rest.substr(0, comma), policy));
    if (comma == rest.npos) {
      return policy;
    }
    rest = rest.substr(comma + 1);
  }
}

std::string keep_policy_text(const KeepPolicy& policy) {
  if (policy.keeps_all()) {
    return "all";
  }
  std::string text;
  const auto add = [&text](
                       std::string_view name, std::uint64_t value, std::span<const Unit> units) {
    if (value != 0) {
      text += (text.empty() ? "" : ",") + std::string(name) + ":" + number_text(value, units);
    }
  };
  add("entries", policy.entries, kEntryUnits);
  add("bytes", policy.bytes, kByteUnits);
  add("age", policy.age_ms, kAgeUnits);
  return text;
}

Status HistoryKeeper::advance(History& history, std::uint64_t now_ms) {
  if (policy_.keeps_all()) {
    return {};
  }
  const std::uint32_t count = std::min(kShardsPerLook, history.shard_count());
  for (std::uint32_t k = 0; k < count; ++k) {
    const ShardId shard{next_};
    next_ = (next_ + 1) % history.shard_count();
    if (history.size(shard) - history.first(shard) >= 2 * kTileThings) {
      const auto first = first_to_keep(history, shard, now_ms);
      if (!first.ok() && first.status().code() == StatusCode::DataLoss) {
        continue;  // Publication finds and repairs rot; stopping would end every start, too.
      }
      GCOORD_TRY_STATUS(first.status());
      history.prune(shard,
                    clues_.floor ? std::min(first.value(), clues_.floor(shard)) : first.value());
    }
  }
  return {};
}

Result<std::uint64_t> HistoryKeeper::first_to_keep(const History& history,
                                                   ShardId shard,
                                                   std::uint64_t now_ms) const {
  const std::uint64_t size = history.size(shard);
  std::uint64_t first = history.first(shard);
  const std::uint64_t bytes = history.entry_bytes(shard);
  if (policy_.bytes != 0 && bytes > policy_.bytes) {
    const std::uint64_t entry_bytes = std::max<std::uint64_t>(bytes / (size - first), 1);
    first += (bytes - policy_.bytes) / entry_bytes;
  }
  if (policy_.entries != 0 && size > policy_.entries) {
    first = std::max(first, size - policy_.entries);
  }
  if (policy_.age_ms != 0 && clues_.entry_ms) {
    GCOORD_TRY(const std::uint64_t young, first_young(history, shard, now_ms));
    first = std::max(first, young);
  }
  return first;
}

Result<std::uint64_t> HistoryKeeper::first_young(const History& history,
                                                 ShardId shard,
                                                 std::uint64_t now_ms) const {
  const std::uint64_t size = history.size(shard);
  const std::uint64_t old_ms = now_ms > policy_.age_ms ? now_ms - policy_.age_ms : 0;
  std::uint64_t tile = history.first(shard) / kTileThings;
  for (std::uint32_t k = 0; k < kTilesPerLook && (tile + 1) * kTileThings < size; ++k) {
    GCOORD_TRY(const TileEntries entries, history.tile_entries(shard, tile));
    if (newest_ms(entries, clues_.entry_ms) >= old_ms) {
      break;
    }
    ++tile;
  }
  return tile * kTileThings;
}

}  // namespace gcoord::ledger
