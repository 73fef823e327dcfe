// The directory that a path names when the path is a link.
//
// A data directory may be a link: systemd makes one for DynamicUser, and operators link to another
// disk. It is resolved once, at the start, and everything after that uses the directory itself: so
// nobody who can change the link meanwhile leads the node elsewhere, and a damaged directory is
// moved aside on its own disk (damaged_directory.h), not the link to it. Thread-safe.
#pragma once

#include "common/status.h"

#include <string>

namespace gcoord::ledger {

// The path itself if it is no link or does not exist; else where the link leads in the end.
// Failures: FailedPrecondition with kDirectoryPermissions if another user than this one or root has
// made the link; Unavailable with kDirectoryUnusable if it leads nowhere.
Result<std::string> real_directory(const std::string& path);

// The path without slashes at its end, so that names beside the directory can be made of it.
std::string without_slash(std::string path);

// Whether anything lies there, a link that leads nowhere too.
bool is_taken(const std::string& path);

}  // namespace gcoord::ledger
