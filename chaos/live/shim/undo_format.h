// Undo records of the shim for a simulated power loss: the file format that shim and nemesis share.
//
// UNDO/INODE.undo   for each file that was written since it was last synced: what was there before.
// UNDO/directories  creations, removals and renames, and which directories were synced since.
// UNDO/graves/N     a link to a file that was removed or replaced, in case that is not durable.
//
// A record is written before the change that it can take back, so a process that dies between the
// two leaves one that changes nothing. A record cut short ends its file. Little-endian, this
// machine only. Plain values.
#pragma once

#include <cstdint>

namespace gcoord::chaos {

inline constexpr std::uint32_t kUndoMagic = 0x4f444e55;  // "UNDO".

struct UndoHeader {
  std::uint32_t magic = kUndoMagic;
  std::uint32_t reserved = 0;
  std::uint64_t first = sizeof(UndoHeader);  // Where the records begin that are not durable.
};

enum class UndoKind : std::uint32_t {
  Bytes = 1,  // The old bytes follow.
  Zeros = 2,  // They were all zero, and do not follow.
};

// [offset, offset + bytes) is what was overwritten or cut off; the rest was beyond the end.
struct UndoRecord {
  std::uint32_t magic = kUndoMagic;
  UndoKind kind = UndoKind::Bytes;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t old_size = 0;
};

enum class DirectoryChange : std::uint32_t {
  Create = 1,  // path.
  Remove = 2,  // path, whose file is in the grave.
  Rename = 3,  // path to `target`, whose old file, if any, is in the grave.
  Make = 4,    // The directory `path`.
  Synced = 5,  // Everything before this in the directory is durable.
};

// Followed by path_bytes and target_bytes of names.
struct DirectoryRecord {
  std::uint32_t magic = kUndoMagic;
  DirectoryChange change = DirectoryChange::Create;
  std::uint64_t directory = 0;  // Its inode.
  std::uint64_t grave = 0;      // 0: none.
  std::uint32_t path_bytes = 0;
  std::uint32_t target_bytes = 0;
};

static_assert(sizeof(UndoHeader) == 16);
static_assert(sizeof(UndoRecord) == 32);
static_assert(sizeof(DirectoryRecord) == 32);

inline constexpr const char* kUndoSuffix = ".undo";
inline constexpr const char* kDirectoriesFile = "directories";
inline constexpr const char* kGravesFolder = "graves";

}  // namespace gcoord::chaos
