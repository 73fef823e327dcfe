#include "server/access/recovery_file.h"

#include "common/bytes.h"
#include "common/crc32c.h"
#include "ledger/disk/posix_disk.h"

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::server {
namespace {

constexpr const char* kName = "auth-recover";
constexpr std::uint64_t kMagic = 0x31524341'44524347;  // "GCRDACR1"
constexpr std::size_t kBodyBytes = 8 + 8 + 4 + 8 + 8;
constexpr std::size_t kFileBytes = kBodyBytes + 4;

std::optional<RecoveryMarker> decode(std::span<const std::byte> bytes) {
  if (bytes.size() != kFileBytes || load<std::uint64_t>(bytes.data()) != kMagic ||
      load<std::uint32_t>(&bytes[kBodyBytes]) != crc32c(bytes.first(kBodyBytes))) {
    return std::nullopt;
  }
  return RecoveryMarker{.cluster = ClusterId{load<std::uint64_t>(&bytes[8])},
                        .node = NodeId{load<std::uint32_t>(&bytes[16])},
                        .number = load<std::uint64_t>(&bytes[20]),
                        .time_ms = load<std::uint64_t>(&bytes[28])};
}

}  // namespace

Status write_recovery_marker(ledger::Disk& disk, const RecoveryMarker& marker) {
  std::array<std::byte, kFileBytes> bytes{};
  std::byte* at = store(bytes.data(), kMagic);
  at = store(at, marker.cluster.value);
  at = store(at, marker.node.value);
  at = store(at, marker.number);
  at = store(at, marker.time_ms);
  store(at, crc32c(std::span{bytes}.first(kBodyBytes)));
  return ledger::write_atomically(disk, kName, bytes);
}

Result<std::optional<RecoveryMarker>> read_recovery_marker(ledger::Disk& disk,
                                                           const RecoveryMarker& own) {
  GCOORD_TRY(const bool exists, disk.exists(kName));
  if (!exists) {
    return std::optional<RecoveryMarker>{};
  }
  GCOORD_TRY(const auto file, disk.open(kName));
  GCOORD_TRY(const auto bytes, ledger::read_all(*file));
  const auto marker = decode(bytes);
  const bool counts = marker && marker->cluster == own.cluster && marker->node == own.node &&
                      marker->number != 0 && own.time_ms < marker->time_ms + kRecoveryMarkerMs;
  return counts ? marker : std::optional<RecoveryMarker>{};
}

OwnMarker own_marker(const std::string& data_dir, const RecoveryMarker& own) {
  auto disk = ledger::PosixDisk::open_directory(data_dir);
  if (!disk.ok()) {
    return {};
  }
  const auto marker = read_recovery_marker(*disk.value(), own);
  if (!marker.ok() || !marker.value()) {
    return {};
  }
  const std::shared_ptr<ledger::Disk> kept = std::move(disk).value();
  // One that cannot be removed is spent all the same: the table has its number.
  return {.number = marker.value()->number,
          .remove = [kept] { static_cast<void>(remove_recovery_marker(*kept)); }};
}

Status remove_recovery_marker(ledger::Disk& disk) {
  GCOORD_TRY_STATUS(disk.remove(kName));
  return disk.sync_directory();
}

}  // namespace gcoord::server
