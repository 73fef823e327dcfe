#include "ledger/directory/former_file.h"

#include "common/bytes.h"
#include "common/crc32c.h"
#include "ledger/base/error_details.h"

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace gcoord::ledger {
namespace {

// On disk, little-endian: magic u64, cluster u64, Unix milliseconds u64, CRC32C u32 of all before.
// Never renumber.
constexpr std::uint64_t kMagic = 0x31524d46'44524347;  // "GCRDFMR1"
constexpr std::size_t kBodyBytes = 8 + 8 + 8;
constexpr std::size_t kFileBytes = kBodyBytes + 4;

// Nothing for bytes that write_former does not write.
std::optional<FormerCluster> decode(std::span<const std::byte> bytes) {
  if (bytes.size() != kFileBytes || load<std::uint64_t>(bytes.data()) != kMagic ||
      load<std::uint32_t>(&bytes[kBodyBytes]) != crc32c(bytes.first(kBodyBytes))) {
    return std::nullopt;
  }
  FormerCluster former;
  former.cluster = ClusterId{load<std::uint64_t>(&bytes[8])};
  former.time_ms = load<std::uint64_t>(&bytes[16]);
  return former.cluster == ClusterId{0} ? std::nullopt : std::optional(former);
}

}  // namespace

Result<std::optional<FormerCluster>> read_former(Disk& disk) {
  GCOORD_TRY(const bool exists, disk.exists(kFormerName));
  if (!exists) {
    return std::optional<FormerCluster>{};
  }
  GCOORD_TRY(const auto file, disk.open(kFormerName));
  GCOORD_TRY_STATUS(file->drop_cached());
  GCOORD_TRY(const auto bytes, read_all(*file));
  auto former = decode(bytes);
  if (!former) {
    return Status{StatusCode::DataLoss,
                  std::string("the file that names the former cluster is damaged") + kRotAdvice,
                  kDirectoryIdentity};
  }
  return former;
}

Status write_former(Disk& disk, const FormerCluster& former) {
  std::array<std::byte, kFileBytes> bytes{};
  std::byte* at = store(bytes.data(), kMagic);
  at = store(at, former.cluster.value);
  at = store(at, former.time_ms);
  store(at, crc32c(std::span{bytes}.first(kBodyBytes)));
  return write_atomically(disk, kFormerName, bytes);
}

}  // namespace gcoord::ledger
