#include "ledger/cluster/repair_file.h"

#include "common/bytes.h"
#include "common/crc32c.h"
#include "ledger/base/error_details.h"

#include <algorithm>
#include <string>

namespace gcoord::ledger {
namespace {

constexpr const char* kName = "repair";
constexpr std::uint64_t kMagic = 0x31504552'44524347;  // "GCRDREP1"
constexpr std::size_t kHeadBytes = 8 + 4;
constexpr std::size_t kShardBytes = 4 + 8;
constexpr std::size_t kCrcBytes = 4;

bool whole(std::span<const std::byte> bytes) {
  if (bytes.size() < kHeadBytes + kCrcBytes || load<std::uint64_t>(bytes.data()) != kMagic) {
    return false;
  }
  const std::uint64_t count = load<std::uint32_t>(&bytes[8]);
  const auto body = bytes.first(bytes.size() - kCrcBytes);
  return body.size() == kHeadBytes + count * kShardBytes &&
         load<std::uint32_t>(&bytes[body.size()]) == crc32c(body);
}

}  // namespace

Result<std::vector<RepairedShard>> read_repair_file(Disk& disk) {
  std::vector<RepairedShard> shards;
  GCOORD_TRY(const bool exists, disk.exists(kName));
  if (!exists) {
    return shards;
  }
  GCOORD_TRY(const auto file, disk.open(kName));
  GCOORD_TRY(const auto bytes, read_all(*file));
  if (!whole(bytes)) {
    return Status{StatusCode::DataLoss,
                  std::string("the list of shards to be repaired is damaged") + kRotAdvice,
                  kHistoryRepair};
  }
  const auto count = load<std::uint32_t>(&bytes[8]);
  for (std::uint32_t k = 0; k < count; ++k) {
    const std::byte* at = &bytes[kHeadBytes + k * kShardBytes];
    shards.push_back({ShardId{load<std::uint32_t>(at)}, load<std::uint64_t>(at + 4)});
  }
  return shards;
}

Status add_to_repair_file(Disk& disk, std::span<const RepairedShard> shards) {
  GCOORD_TRY(auto all, read_repair_file(disk));
  for (const RepairedShard& each : shards) {
    const auto known = std::ranges::find(all, each.shard, &RepairedShard::shard);
    if (known == all.end()) {
      all.push_back(each);
    } else {
      *known = each;
    }
  }
  std::vector<std::byte> bytes(kHeadBytes + all.size() * kShardBytes + kCrcBytes);
  std::byte* at = store(bytes.data(), kMagic);
  at = store(at, static_cast<std::uint32_t>(all.size()));
  for (const RepairedShard& each : all) {
    at = store(at, each.shard.value);
    at = store(at, each.index);
  }
  store(at, crc32c(std::span(bytes).first(bytes.size() - kCrcBytes)));
  return write_atomically(disk, kName, bytes);
}

Status remove_repair_file(Disk& disk) {
  GCOORD_TRY_STATUS(disk.remove(kName));
  return disk.sync_directory();
}

}  // namespace gcoord::ledger
