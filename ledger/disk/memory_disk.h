// A Disk in memory that can lose power, run full, fail and rot: the simulator's disk.
//
// It keeps, per file, the synced sectors and every version of each sector written since. After
// lose_power(seed) each unsynced sector holds its synced content or any one of these versions,
// drawn from the seed; directory operations survive as a prefix of their order, as a journaling
// file system leaves them. Files opened before the loss answer Aborted. All of it replays from the
// seed. Sectors of zeros take no memory, so preallocated segments are cheap. One thread at a time.
#pragma once

#include "ledger/base/power_supply.h"
#include "ledger/disk/disk.h"

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::ledger {

class MemoryDisk final : public Disk {
 public:
  MemoryDisk() = default;

  Result<std::unique_ptr<DiskFile>> open(const std::string& name) override;
  Result<std::unique_ptr<DiskFile>> create(const std::string& name,
                                           std::uint64_t size_bytes) override;
  Status rename(const std::string& from, const std::string& to) override;
  Status remove(const std::string& name) override;
  Result<bool> exists(const std::string& name) override;
  Result<std::vector<std::string>> list() override;
  Status sync_directory() override;
  Result<DiskSpace> space() override;

  // Faults and losses, for tests and schedules; files must not be in use on another thread.
  // The machine loses power and comes back with what this seed leaves.
  void lose_power(std::uint64_t seed);

  // The process dies and the operating system does not: nothing is lost, open files answer Aborted.
  void crash();

  // Faults, until changed back. Space: creating or extending a file beyond it fails with kDiskFull.
  void set_capacity_bytes(std::uint64_t capacity_bytes) { capacity_bytes_ = capacity_bytes; }

  // Every write fails and changes nothing.
  void fail_writes(bool fail) { writes_fail_ = fail; }

  // A failing sync persists nothing and forgets which sectors were unsynced: as Linux does, it
  // leaves them readable and gone after the next loss of power or drop_cached().
  void fail_syncs(bool fail) { syncs_fail_ = fail; }

  // What feeds it; a supply of its own until told otherwise. Writes and syncs are its operations:
  // without power they fail and change nothing, until lose_power(). A sync that is cut persists
  // nothing.
  void set_power(std::shared_ptr<PowerSupply> power) { power_ = std::move(power); }

  void cut_power_after(std::uint64_t operation_count) { power_->cut_after(operation_count); }

  bool has_lost_power() const { return power_->gone(); }

  std::vector<std::string> names() const;

  // What a file reads as now, and replacing it, durably, by other bytes: for planting damage.
  std::vector<std::byte> image(const std::string& name) const;
  void set_image(const std::string& name, std::span<const std::byte> bytes);

  // Syncs of files that succeeded so far; a test's measure of cost.
  std::uint64_t sync_count() const { return sync_count_; }

 private:
  friend class MemoryFile;
  using Sector = std::array<std::byte, kSectorBytes>;

  // A file apart from its name. What is read: unsynced over wrongly_clean over synced.
  struct Inode {
    std::uint64_t number = 0;
    std::uint64_t size_bytes = 0;
    std::uint64_t synced_size_bytes = 0;
    std::map<std::uint64_t, Sector> synced;                 // Absent: zeros.
    std::map<std::uint64_t, std::vector<Sector>> unsynced;  // Versions, oldest first.
    std::map<std::uint64_t, Sector> wrongly_clean;          // After a failed sync: read, not kept.

    Sector sector(std::uint64_t number_of_sector) const;
    void read(std::uint64_t offset, std::span<std::byte> into) const;
    void write(std::uint64_t offset, std::span<const std::byte> bytes);
    void persist(std::uint64_t number_of_sector, const Sector& content);
    void sync();
    void fail_sync();
    void lose_power(std::uint64_t seed);
  };

  // A name refers to a file; files that open handles or older directories refer to live on.
  using Directory = std::map<std::string, std::shared_ptr<Inode>>;

  // Sizes of all named files, holes included: space is reserved when a file is created.
  std::uint64_t used_bytes() const;
  Status reserve(std::uint64_t byte_count) const;

  Directory directory_;
  std::vector<Directory> unsynced_directories_;  // As it was before each unsynced operation.
  std::uint64_t inode_count_ = 0;
  std::uint64_t life_ = 0;  // Rises with every loss of power or crash.
  std::uint64_t capacity_bytes_ = ~std::uint64_t{0};
  std::shared_ptr<PowerSupply> power_ = std::make_shared<PowerSupply>();
  bool writes_fail_ = false;
  bool syncs_fail_ = false;
  std::uint64_t sync_count_ = 0;
};

}  // namespace gcoord::ledger
