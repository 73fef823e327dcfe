// The members of the cluster as a node last knew them, beside its identity: `members`.
//
// One small file, replaced atomically and checksummed. This room keeps the bytes; what they mean is
// their writer's to say (server/start/kept_members.h). Works on any Disk; one thread at a time.
#pragma once

#include "common/status.h"
#include "ledger/disk/disk.h"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace gcoord::ledger {

inline constexpr const char* kMembersName = "members";

// 64 nodes with names, addresses and labels of full length take less than a tenth of it.
inline constexpr std::size_t kMembersBytesMax = std::size_t{1} << 20;

// Nothing where the directory has no such file. Failures: DataLoss with kDirectoryIdentity for one
// that is damaged, FailedPrecondition with kDirectoryFormat, the disk's own.
Result<std::optional<std::vector<std::byte>>> read_members(Disk& disk);

// Durable on return; at most kMembersBytesMax. After a failure the file is as before. Failures: the
// disk's own.
Status write_members(Disk& disk, std::span<const std::byte> content);

}  // namespace gcoord::ledger
