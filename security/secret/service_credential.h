// Files that systemd hands to a service (LoadCredential=, systemd.exec(5)).
//
// They lie in the folder that $CREDENTIALS_DIRECTORY names, which systemd makes for the service
// alone. Where that folder's file system has access control lists a file is root's with mode 0440:
// its list has one more entry, for the service's user, and the bits of the group are the list's
// mask, no right of a group. Elsewhere it is the user's with mode 0400, as any other secret file.
// Thread-safe.
#pragma once

#include <string>

struct stat;

namespace gcoord::security {

// Whether the open file of this path is one that nobody but root and this process can read or
// change, because systemd made it and its folder.
bool is_service_credential(const std::string& path, const struct stat& file);

}  // namespace gcoord::security
