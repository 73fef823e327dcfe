#include "server/history/device_commands.h"

#include "server/history/record_text.h"

#include <cstring>

namespace gcoord::server {

const locks::LockCommand* DeviceCommands::take(LogIndex index, std::span<const std::byte> leaf) {
  locks::LockEntry& entry = last_[index.value % kKept];
  entry = {};
  if (!is_device_entry(leaf)) {
    return nullptr;
  }
  std::memcpy(static_cast<void*>(&entry), leaf.data(), sizeof entry);
  if (locks::is_nothing_to_locks(entry.kind())) {
    return nullptr;
  }
  // Entries may say that more stands before them than ever does.
  const auto log = [this, index](LogIndex at) {
    const std::uint64_t back = index.value - at.value;
    return back < kKept ? last_[at.value % kKept] : locks::LockEntry{};
  };
  command_ = {};
  return locks::read_command(log, index, entry, text_, command_) ? &command_ : nullptr;
}

}  // namespace gcoord::server
