#include "ledger/directory/members_file.h"

#include "common/assert.h"
#include "common/bytes.h"
#include "common/crc32c.h"
#include "ledger/base/error_details.h"

#include <algorithm>
#include <cstdint>
#include <string>

namespace gcoord::ledger {
namespace {

// On disk, little-endian: magic u64, version u32, length u32, content, CRC32C u32 of all before.
// Never renumber.
constexpr std::uint64_t kMagic = 0x31424d4d'44524347;  // "GCRDMMB1"
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kHeadBytes = 8 + 4 + 4;
constexpr std::size_t kCrcBytes = 4;

Status damaged() {
  return Status{StatusCode::DataLoss,
                std::string("the members file is damaged") + kRotAdvice,
                kDirectoryIdentity};
}

Result<std::vector<std::byte>> decode(std::span<const std::byte> bytes) {
  const bool whole = bytes.size() >= kHeadBytes + kCrcBytes &&
                     load<std::uint64_t>(bytes.data()) == kMagic &&
                     load<std::uint32_t>(&bytes[bytes.size() - kCrcBytes]) ==
                         crc32c(bytes.first(bytes.size() - kCrcBytes));
  if (!whole) {
    return damaged();
  }
  const auto version = load<std::uint32_t>(bytes.data() + 8);
  if (version != kVersion) {
    return Status{StatusCode::FailedPrecondition,
                  "the members file has format " + std::to_string(version) +
                      "; start the release that wrote it",
                  kDirectoryFormat};
  }
  const std::span content = bytes.subspan(kHeadBytes, bytes.size() - kHeadBytes - kCrcBytes);
  if (content.size() != load<std::uint32_t>(bytes.data() + 12)) {
    return damaged();
  }
  return std::vector<std::byte>{content.begin(), content.end()};
}

}  // namespace

Result<std::optional<std::vector<std::byte>>> read_members(Disk& disk) {
  GCOORD_TRY(const bool exists, disk.exists(kMembersName));
  if (!exists) {
    return std::optional<std::vector<std::byte>>{};
  }
  GCOORD_TRY(const auto stored, disk.open(kMembersName));
  GCOORD_TRY_STATUS(stored->drop_cached());
  GCOORD_TRY(const std::uint64_t size, stored->size_bytes());
  if (size > kHeadBytes + kMembersBytesMax + kCrcBytes) {
    return damaged();
  }
  GCOORD_TRY(const auto bytes, read_all(*stored));
  GCOORD_TRY(auto content, decode(bytes));
  return std::optional{std::move(content)};
}

Status write_members(Disk& disk, std::span<const std::byte> content) {
  GCOORD_ASSERT(content.size() <= kMembersBytesMax);
  std::vector<std::byte> bytes(kHeadBytes + content.size() + kCrcBytes);
  auto* at = store(bytes.data(), kMagic);
  at = store(at, kVersion);
  at = store(at, static_cast<std::uint32_t>(content.size()));
  at = std::copy(content.begin(), content.end(), at);
  store(at, crc32c(std::span{bytes}.first(bytes.size() - kCrcBytes)));
  return write_atomically(disk, kMembersName, bytes);
}

}  // namespace gcoord::ledger
