// Files that hold a secret: mode 0600 or tighter, the reader's own, and no link.
//
// A file that others could read or change is refused, because a secret that somebody may have seen
// is none. A file that systemd hands to the service (service_credential.h) is good, too. What is
// written is complete and on the disk, or nothing changed. Thread-safe; two writers of one path:
// one of them fails.
#pragma once

#include "common/status.h"
#include "security/secret/bytes.h"

#include <cstddef>
#include <span>
#include <string>

namespace gcoord::security {

// All of a file of at most `bytes_max`. GC3120: it is a link or no plain file, of another user, or
// open to its group or others; GC3121: it is not there or cannot be read; GC3122: it is longer.
Result<SecretBytes> read_secret_file(const std::string& path, std::size_t bytes_max);

// For whoever reads the file in another way: GC3120 as above. A file that is not there is no
// failure.
Status check_secret_file(const std::string& path);

// Puts the bytes in place of what lies there. GC3124 when the disk does not take them.
Status write_secret_file(const std::string& path, std::span<const std::byte> bytes);

// The same for a name that nobody has: GC3123 if somebody does.
Status write_new_secret_file(const std::string& path, std::span<const std::byte> bytes);

}  // namespace gcoord::security
