#include "ledger/disk/memory_disk.h"

#include "common/assert.h"
#include "common/random.h"
#include "ledger/base/error_details.h"

#include <algorithm>
#include <utility>

namespace gcoord::ledger {
namespace {

Status stale_file() {
  return Status{StatusCode::Aborted, "the file was opened before the disk lost its power"};
}

Status not_found(const std::string& name) {
  return Status{StatusCode::NotFound, "no file " + name, kDiskFailed};
}

}  // namespace

class MemoryFile final : public DiskFile {
 public:
  MemoryFile(MemoryDisk& disk, std::shared_ptr<MemoryDisk::Inode> inode)
      : disk_(disk), inode_(std::move(inode)), life_(disk.life_) {}

  Result<std::size_t> read(std::uint64_t offset, std::span<std::byte> into) override;
  Status write(std::uint64_t offset, std::span<const std::byte> bytes) override;
  Status sync() override;
  Status drop_cached() override;

  Result<std::uint64_t> size_bytes() const override { return inode_->size_bytes; }

 private:
  bool stale() const { return life_ != disk_.life_; }

  MemoryDisk& disk_;
  std::shared_ptr<MemoryDisk::Inode> inode_;
  std::uint64_t life_;
};

MemoryDisk::Sector MemoryDisk::Inode::sector(std::uint64_t number_of_sector) const {
  if (const auto found = unsynced.find(number_of_sector); found != unsynced.end()) {
    return found->second.back();
  }
  if (const auto found = wrongly_clean.find(number_of_sector); found != wrongly_clean.end()) {
    return found->second;
  }
  const auto found = synced.find(number_of_sector);
  return found != synced.end() ? found->second : Sector{};
}

void MemoryDisk::Inode::read(std::uint64_t offset, std::span<std::byte> into) const {
  for (std::size_t done = 0; done < into.size();) {
    const std::uint64_t at = offset + done;
    const Sector from = sector(at / kSectorBytes);
    const std::size_t skip = at % kSectorBytes;
    const std::size_t count = std::min(kSectorBytes - skip, into.size() - done);
    std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(skip), count, into.data() + done);
    done += count;
  }
}

void MemoryDisk::Inode::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const std::uint64_t at = offset + done;
    const std::uint64_t number_of_sector = at / kSectorBytes;
    const Sector before = sector(number_of_sector);
    Sector after = before;
    const std::size_t skip = at % kSectorBytes;
    const std::size_t count = std::min(kSectorBytes - skip, bytes.size() - done);
    std::copy_n(bytes.data() + done, count, after.begin() + static_cast<std::ptrdiff_t>(skip));
    if (after != before) {
      unsynced[number_of_sector].push_back(after);
    }
    done += count;
  }
  size_bytes = std::max(size_bytes, offset + bytes.size());
}

void MemoryDisk::Inode::persist(std::uint64_t number_of_sector, const Sector& content) {
  if (content == Sector{}) {
    synced.erase(number_of_sector);
  } else {
    synced[number_of_sector] = content;
  }
}

void MemoryDisk::Inode::sync() {
  for (const auto& [number_of_sector, versions] : unsynced) {
    wrongly_clean.erase(number_of_sector);
    persist(number_of_sector, versions.back());
  }
  unsynced.clear();
  synced_size_bytes = size_bytes;
}

// The kernel's answer to a failed write-back: pages stay readable and count as clean.
void MemoryDisk::Inode::fail_sync() {
  for (const auto& [number_of_sector, versions] : unsynced) {
    wrongly_clean[number_of_sector] = versions.back();
  }
  unsynced.clear();
}

void MemoryDisk::Inode::lose_power(std::uint64_t seed) {
  for (const auto& [number_of_sector, versions] : unsynced) {
    const auto choices = static_cast<std::uint32_t>(versions.size() + 1);
    const std::uint32_t kept = random_below(random64(seed, number, number_of_sector), choices);
    if (kept > 0) {
      persist(number_of_sector, versions[kept - 1]);
    }
  }
  unsynced.clear();
  wrongly_clean.clear();
  if (random64(seed, number, ~std::uint64_t{0}) % 2 == 0) {
    size_bytes = synced_size_bytes;
    synced.erase(synced.lower_bound((size_bytes + kSectorBytes - 1) / kSectorBytes), synced.end());
  }
  synced_size_bytes = size_bytes;
}

Result<std::size_t> MemoryFile::read(std::uint64_t offset, std::span<std::byte> into) {
  if (stale()) {
    return stale_file();
  }
  const std::uint64_t size = inode_->size_bytes;
  const std::uint64_t count =
      offset < size ? std::min<std::uint64_t>(into.size(), size - offset) : 0;
  inode_->read(offset, into.first(count));
  return std::size_t{count};
}

Status MemoryFile::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  if (stale()) {
    return stale_file();
  }
  if (!disk_.power_->spend(DiskOperation::Write)) {
    return stale_file();
  }
  if (disk_.writes_fail_) {
    return Status{StatusCode::Unavailable, "the disk fails writes", kDiskWriteFailed};
  }
  const std::uint64_t end = offset + bytes.size();
  if (end > inode_->size_bytes) {
    GCOORD_TRY_STATUS(disk_.reserve(end - inode_->size_bytes));
  }
  inode_->write(offset, bytes);
  return Status{};
}

Status MemoryFile::sync() {
  if (stale()) {
    return stale_file();
  }
  if (!disk_.power_->spend(DiskOperation::Sync)) {
    return stale_file();
  }
  if (disk_.syncs_fail_) {
    inode_->fail_sync();
    return Status{StatusCode::Unavailable, "the disk fails syncs", kDiskSyncFailed};
  }
  inode_->sync();
  ++disk_.sync_count_;
  return Status{};
}

Status MemoryFile::drop_cached() {
  GCOORD_TRY_STATUS(sync());
  inode_->wrongly_clean.clear();
  return Status{};
}

Result<std::unique_ptr<DiskFile>> MemoryDisk::open(const std::string& name) {
  const auto found = directory_.find(name);
  if (found == directory_.end()) {
    return not_found(name);
  }
  return std::unique_ptr<DiskFile>{std::make_unique<MemoryFile>(*this, found->second)};
}

Result<std::unique_ptr<DiskFile>> MemoryDisk::create(const std::string& name,
                                                     std::uint64_t size_bytes) {
  if (power_->gone()) {
    return stale_file();
  }
  GCOORD_TRY_STATUS(reserve(size_bytes));
  unsynced_directories_.push_back(directory_);
  auto inode = std::make_shared<Inode>();
  inode->number = ++inode_count_;
  inode->size_bytes = size_bytes;
  directory_[name] = inode;
  return std::unique_ptr<DiskFile>{std::make_unique<MemoryFile>(*this, std::move(inode))};
}

Status MemoryDisk::rename(const std::string& from, const std::string& to) {
  if (power_->gone()) {
    return stale_file();
  }
  const auto found = directory_.find(from);
  if (found == directory_.end()) {
    return not_found(from);
  }
  unsynced_directories_.push_back(directory_);
  auto inode = found->second;
  directory_.erase(found);
  directory_[to] = std::move(inode);
  return Status{};
}

Status MemoryDisk::remove(const std::string& name) {
  if (power_->gone()) {
    return stale_file();
  }
  if (directory_.contains(name)) {
    unsynced_directories_.push_back(directory_);
    directory_.erase(name);
  }
  return Status{};
}

Result<bool> MemoryDisk::exists(const std::string& name) {
  return directory_.contains(name);
}

Result<std::vector<std::string>> MemoryDisk::list() {
  return names();
}

Status MemoryDisk::sync_directory() {
  if (!power_->spend(DiskOperation::SyncDirectory)) {
    return stale_file();
  }
  if (syncs_fail_) {
    return Status{StatusCode::Unavailable, "the disk fails syncs", kDiskSyncFailed};
  }
  unsynced_directories_.clear();
  return Status{};
}

Result<DiskSpace> MemoryDisk::space() {
  const std::uint64_t used = std::min(used_bytes(), capacity_bytes_);
  return DiskSpace{capacity_bytes_ - used, capacity_bytes_};
}

void MemoryDisk::lose_power(std::uint64_t seed) {
  const auto operation_count = static_cast<std::uint32_t>(unsynced_directories_.size());
  const std::uint32_t kept = random_below(random64(seed, 0, 0), operation_count + 1);
  if (kept < operation_count) {
    directory_ = unsynced_directories_[kept];
  }
  unsynced_directories_.clear();
  for (const auto& [name, inode] : directory_) {
    inode->lose_power(seed);
  }
  ++life_;
  power_->restore();
}

void MemoryDisk::crash() {
  ++life_;
}

std::vector<std::string> MemoryDisk::names() const {
  std::vector<std::string> names;
  for (const auto& [name, inode] : directory_) {
    names.push_back(name);
  }
  return names;
}

std::vector<std::byte> MemoryDisk::image(const std::string& name) const {
  const auto found = directory_.find(name);
  GCOORD_ASSERT(found != directory_.end());
  std::vector<std::byte> bytes(found->second->size_bytes);
  found->second->read(0, bytes);
  return bytes;
}

void MemoryDisk::set_image(const std::string& name, std::span<const std::byte> bytes) {
  auto inode = std::make_shared<Inode>();
  inode->number = ++inode_count_;
  inode->write(0, bytes);
  inode->sync();
  directory_[name] = inode;
  for (Directory& before : unsynced_directories_) {
    before[name] = inode;
  }
}

std::uint64_t MemoryDisk::used_bytes() const {
  std::uint64_t sum = 0;
  for (const auto& [name, inode] : directory_) {
    sum += inode->size_bytes;
  }
  return sum;
}

Status MemoryDisk::reserve(std::uint64_t byte_count) const {
  if (used_bytes() + byte_count <= capacity_bytes_) {
    return Status{};
  }
  return Status{StatusCode::ResourceExhausted,
                "no space left on the simulated disk; free space and start the node again",
                kDiskFull};
}

}  // namespace gcoord::ledger
