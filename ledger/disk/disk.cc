#include "ledger/disk/disk.h"

#include "ledger/base/error_details.h"

namespace gcoord::ledger {

Result<std::vector<std::byte>> read_all(DiskFile& file) {
  GCOORD_TRY(const std::uint64_t size, file.size_bytes());
  std::vector<std::byte> bytes(size);
  GCOORD_TRY(const std::size_t read_bytes, file.read(0, bytes));
  bytes.resize(read_bytes);
  return bytes;
}

Status write_atomically(Disk& disk, const std::string& name, std::span<const std::byte> bytes) {
  const std::string provisional = name + ".next";
  GCOORD_TRY(const auto file, disk.create(provisional, bytes.size()));
  GCOORD_TRY_STATUS(file->write(0, bytes));
  GCOORD_TRY_STATUS(file->sync());
  GCOORD_TRY_STATUS(disk.rename(provisional, name));
  return disk.sync_directory();
}

}  // namespace gcoord::ledger
