// Reads certificates, keys and revocation lists from PEM files.
//
// A file has at most kPemFileBytesMax bytes. A key that others than its owner can read or write is
// refused, so is one of another user than this process's or root, and one that is encrypted: there
// is nobody who could type a password. Links are followed, as tools that rotate certificates make
// them. The bytes of a key are wiped. Errors: GC1230, GC1231, GC1233. Thread-safe.
#pragma once

#include "common/status.h"
#include "security/tls/openssl_owned.h"

#include <cstddef>
#include <string>
#include <vector>

namespace gcoord::security {

inline constexpr std::size_t kPemFileBytesMax = std::size_t{1} << 20;

// All certificates of the file, in its order; at least one.
Result<std::vector<OwnedCertificate>> read_certificates(const std::string& path);

Result<OwnedKey> read_key(const std::string& path);

// All revocation lists of the file; at least one.
Result<std::vector<OwnedRevocations>> read_revocations(const std::string& path);

}  // namespace gcoord::security
