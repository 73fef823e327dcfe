// A .tar.gz of files in memory: ustar (POSIX.1-1988) behind zlib's gzip.
//
// Every tar reads it. The bytes follow from the files alone: owner 0, mode 0600, no names of users,
// and no time in gzip's header. Thread-safe.
#pragma once

#include "common/status.h"

#include <cstdint>
#include <span>
#include <string>

namespace gcoord::cli {

struct ArchivedFile {
  std::string name;     // Of 1 to 100 bytes, with '/' between folders.
  std::string content;  // Up to 8 GiB.
  std::uint64_t unix_seconds = 0;
};

// The bytes of the archive, files in their order. ResourceExhausted when there is no memory for it.
Result<std::string> make_archive(std::span<const ArchivedFile> files);

// Whether a file can be made at this path, as far as one can know before. InvalidArgument, with the
// path and the cause: something has the name already, or its folder takes no files.
Status check_new_file(const std::string& path);

// Makes a file that only its user may read, and writes all of the bytes onto the disk. Nothing that
// has the name is touched or followed: InvalidArgument then. Unavailable when the bytes cannot be
// written; no part of them is left.
Status write_new_file(const std::string& path, const std::string& bytes);

}  // namespace gcoord::cli
