#include "chaos/disks/world_disk.h"

#include "common/random.h"

#include <string>
#include <vector>

namespace gcoord::chaos {
namespace {

void copy_files(ledger::MemoryDisk& to, const ledger::MemoryDisk& from) {
  for (const std::string& name : from.names()) {
    to.set_image(name, from.image(name));
  }
}

}  // namespace

std::unique_ptr<WorldDisk> WorldDisk::copy() const {
  auto twin = std::make_unique<WorldDisk>();
  copy_files(twin->identity, identity);
  copy_files(twin->log, log);
  twin->checkpoints = checkpoints;
  twin->checkpoints.power = nullptr;
  twin->checkpoints.full = twin->checkpoints.writes_fail = false;
  twin->history = history;
  twin->history.power = nullptr;
  twin->history.full = twin->history.writes_fail = false;
  twin->members = members;
  return twin;
}

void WorldDisk::set_full(bool full) {
  log.set_capacity_bytes(full ? 0 : ~std::uint64_t{0});
  checkpoints.full = full;
  history.full = full;
}

bool WorldDisk::flip_bit(std::uint64_t choice) {
  if (choice % 4 == 0) {
    return checkpoints.flip_bit(mix64(choice));
  }
  const std::vector<std::string> names = log.names();
  if (names.empty()) {
    return false;
  }
  const std::string& name = names[mix64(choice) % names.size()];
  std::vector<std::byte> bytes = log.image(name);
  std::size_t written = bytes.size();
  while (written > 0 && bytes[written - 1] == std::byte{0}) {
    --written;
  }
  if (written == 0) {
    return false;
  }
  const std::uint64_t bit = mix64(choice + 1) % (written * 8);
  bytes[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
  log.set_image(name, bytes);
  return true;
}

}  // namespace gcoord::chaos
