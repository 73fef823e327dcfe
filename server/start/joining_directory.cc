#include "server/start/joining_directory.h"

#include "common/assert.h"
#include "common/bytes.h"
#include "common/crc32c.h"
#include "common/incarnation.h"
#include "ledger/base/error_details.h"
#include "ledger/directory/identity_file.h"
#include "ledger/directory/members_file.h"
#include "server/trust/join_secret.h"

#include <array>
#include <filesystem>
#include <span>
#include <system_error>
#include <vector>

namespace gcoord::server {
namespace {

// On disk, little-endian: magic u64, directory id u64, CRC32C u32 of both. Never renumber.
constexpr const char* kName = "joining";
constexpr std::uint64_t kMagic = 0x31474e4a'44524347;  // "GCRDJNG1"
constexpr std::size_t kBodyBytes = 8 + 8;
constexpr std::size_t kFileBytes = kBodyBytes + 4;

Status write_id(ledger::Disk& disk, std::uint64_t directory_id) {
  std::array<std::byte, kFileBytes> bytes{};
  std::byte* at = store(bytes.data(), kMagic);
  at = store(at, directory_id);
  store(at, crc32c(std::span{bytes}.first(kBodyBytes)));
  return ledger::write_atomically(disk, kName, bytes);
}

Result<std::uint64_t> read_id(ledger::Disk& disk) {
  GCOORD_TRY(const auto stored, disk.open(kName));
  GCOORD_TRY_STATUS(stored->drop_cached());
  GCOORD_TRY(const std::vector<std::byte> bytes, ledger::read_all(*stored));
  const bool whole =
      bytes.size() == kFileBytes && load<std::uint64_t>(bytes.data()) == kMagic &&
      load<std::uint32_t>(&bytes[kBodyBytes]) == crc32c(std::span{bytes}.first(kBodyBytes)) &&
      load<std::uint64_t>(&bytes[8]) != 0;
  if (!whole) {
    return Status{StatusCode::DataLoss,
                  "the file of a join that has begun is damaged; empty the data directory and join "
                  "with a new token",
                  ledger::kDirectoryIdentity};
  }
  return load<std::uint64_t>(&bytes[8]);
}

Status occupied(const std::string& path) {
  return Status{StatusCode::FailedPrecondition,
                "the data directory " + path +
                    " holds the data of a node already; leave out --join, or give the new node an "
                    "empty directory",
                ledger::kDirectoryNode};
}

}  // namespace

Result<bool> is_joining(ledger::Disk& disk) {
  GCOORD_TRY(const bool begun, disk.exists(kName));
  GCOORD_TRY(const bool finished, disk.exists(ledger::kMembersName));
  return begun && !finished;
}

Result<bool> is_to_join(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) {
    return true;
  }
  GCOORD_TRY(const auto disk, ledger::PosixDisk::open_directory(path));
  GCOORD_TRY(const bool finished, disk->exists(ledger::kMembersName));
  return !finished;
}

Result<std::unique_ptr<JoiningDirectory>> JoiningDirectory::open(const std::string& path,
                                                                 std::uint64_t random_id) {
  GCOORD_ASSERT(random_id != 0);
  GCOORD_TRY_STATUS(ledger::make_data_directory(path));
  std::unique_ptr<JoiningDirectory> directory(new JoiningDirectory(path));
  GCOORD_TRY(directory->disk_, ledger::PosixDisk::open_directory(path));
  GCOORD_TRY(directory->lock_, ledger::DirectoryLock::take(path));
  GCOORD_TRY(const bool begun, directory->disk_->exists(kName));
  if (begun) {
    GCOORD_TRY(directory->directory_id_, read_id(*directory->disk_));
    return directory;
  }
  for (const char* name : {"identity", "wal", "checkpoint"}) {
    GCOORD_TRY(const bool exists, directory->disk_->exists(name));
    if (exists) {
      return occupied(path);
    }
  }
  GCOORD_TRY_STATUS(write_id(*directory->disk_, random_id));
  directory->directory_id_ = random_id;
  return directory;
}

Status JoiningDirectory::finish(const protocol::JoinAnswer& answer,
                                const protocol::JoinToken& token) {
  const ledger::NodeIdentity identity{answer.cluster,
                                      answer.node,
                                      answer.view.settings.shards,
                                      answer.view.settings.durability == 0};
  GCOORD_TRY(const auto file, ledger::IdentityFile::open(*disk_, identity, directory_id_));
  GCOORD_ASSERT(file->directory_id() == directory_id_);
  const protocol::Member* const self = protocol::find_member(answer.view, answer.node);
  const std::uint32_t generation = self == nullptr ? 0 : generation_of(self->incarnation);
  if (generation > generation_of(file->incarnation())) {
    GCOORD_TRY_STATUS(file->take_over(incarnation_of(generation - 1, 0), directory_id_));
  }
  GCOORD_TRY_STATUS(keep_join_secret(answer, token, path_));
  GCOORD_TRY_STATUS(write_kept_members(*disk_,
                                       {.members = {.view = answer.view, .earlier_voters = {}},
                                        .hints = {},
                                        .joined_by = protocol::join_token_proof(token),
                                        .removed = false}));
  GCOORD_TRY_STATUS(disk_->remove(kName));
  return disk_->sync_directory();
}

}  // namespace gcoord::server
