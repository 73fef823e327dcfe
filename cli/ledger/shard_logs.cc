#include "cli/ledger/shard_logs.h"

#include "ledger/base/error_details.h"

#include <algorithm>
#include <charconv>
#include <string>

namespace gcoord::cli {
namespace {

constexpr std::uint64_t kBundle = 256;
// Shards in a row that a ledger lacks before it is taken to have no more: exports may have gaps.
constexpr std::uint32_t kGapMax = 16;
constexpr std::uint32_t kShardsMax = 1u << 20;
constexpr std::size_t kKeptBytesMax = 64u << 20;
constexpr std::size_t kCountBytesMax = 16;
// What an entry takes besides its bytes.
constexpr std::size_t kEntryBytes = 48;

std::optional<std::uint32_t> parse_count(std::string_view text) {
  std::uint32_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  const bool whole = error == std::errc{} &&
                     std::string_view(end, text.data() + text.size()) == "\n" && count != 0 &&
                     count <= kShardsMax;
  return whole ? std::optional(count) : std::nullopt;
}

}  // namespace

Result<ShardLogs> ShardLogs::open(const LedgerAddress& address, const ProofTrust& trust) {
  ShardLogs logs(address, trust);
  GCOORD_TRY_STATUS(logs.ask_count());
  return logs;
}

// A node of a release before this one takes the path for one of no file. Where the server cannot be
// reached, the first log says so.
Status ShardLogs::ask_count() {
  GCOORD_TRY(const auto source, open_source(address_, ""));
  const auto text = read_text(*source, "shards", kCountBytesMax);
  if (text.ok()) {
    count_ = parse_count(text.value());
  }
  return {};
}

Result<std::vector<std::uint32_t>> ShardLogs::all() {
  std::vector<std::uint32_t> shards;
  std::uint32_t absent = 0;
  const std::uint32_t end = count_.value_or(kShardsMax);
  for (std::uint32_t shard = 0; shard < end && (count_ || absent < kGapMax); ++shard) {
    GCOORD_TRY(const OpenLog* const found, log(shard));
    absent = found == nullptr ? absent + 1 : 0;
    if (found != nullptr) {
      shards.push_back(shard);
    }
  }
  return shards;
}

Result<const OpenLog*> ShardLogs::log(std::uint32_t shard) {
  auto known = logs_.find(shard);
  if (known == logs_.end()) {
    auto opened = open_log(address_, shard, trust_);
    if (!opened.ok() && opened.status().detail() != ledger::kLedgerAbsent) {
      return opened.status();
    }
    known = logs_.emplace(shard, std::nullopt).first;
    if (opened.ok()) {
      known->second = std::move(opened).value();
    }
  }
  return known->second ? &*known->second : nullptr;
}

// The entries of a log from the first one of a bundle on.
Result<const ShardLogs::Bundle*> ShardLogs::bundle(std::uint32_t shard, std::uint64_t first) {
  const std::pair key{shard, first};
  if (const auto kept = kept_.find(key); kept != kept_.end()) {
    return &kept->second;
  }
  const OpenLog& log = opened(shard);
  const std::uint64_t count = std::min(kBundle, log.checkpoint.size - first);
  GCOORD_TRY(last_, log.reader->entries(first, static_cast<std::size_t>(count)));
  std::size_t bytes = 0;
  for (const auto& entry : last_) {
    bytes += entry.size() + kEntryBytes;
  }
  if (kept_bytes_ + bytes > kKeptBytesMax) {
    return &last_;
  }
  kept_bytes_ += bytes;
  return &kept_.emplace(key, std::move(last_)).first->second;
}

Result<std::uint64_t> ShardLogs::walk(std::uint32_t shard, std::uint64_t from, const Visit& visit) {
  const std::uint64_t size = opened(shard).checkpoint.size;
  std::uint64_t pruned = 0;
  for (std::uint64_t index = from; index < size;) {
    const std::uint64_t first = index / kBundle * kBundle;
    const std::uint64_t end = std::min(size, first + kBundle);
    const auto entries = bundle(shard, first);
    if (!entries.ok() && entries.status().detail() == ledger::kLedgerPruned) {
      pruned += end - index;
    } else {
      GCOORD_TRY_STATUS(entries.status());
      for (std::uint64_t k = index; k < end; ++k) {
        if (!visit(k, (*entries.value())[static_cast<std::size_t>(k - first)])) {
          return pruned;
        }
      }
    }
    index = end;
  }
  return pruned;
}

}  // namespace gcoord::cli
