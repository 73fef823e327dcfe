// Creation of a file that is this process's alone, at a name where anybody may have put something.
//
// Programs write FILE.part beside the file that it will become, often in a folder of others. A link
// there would lead what is written to where its maker wants it, and a file there would be filled
// while somebody else holds it. So the name is taken with O_EXCL and O_NOFOLLOW, and the file is
// locked (flock) for as long as its descriptor is open. What an interrupted writer left is removed
// first: a plain file with one name, of this user, that nobody has locked. Thread-safe.
#pragma once

#include "common/status.h"

#include <sys/types.h>

#include <string>

namespace gcoord {

// A descriptor for writing at an empty file with `mode` less the umask, closed on exec; the
// caller's to close. Unavailable with a text that names the path, the cause and what to do: a link
// or another kind of file lies there, it is of another user, or another process writes it.
Result<int> create_exclusive_file(const std::string& path, mode_t mode);

}  // namespace gcoord
