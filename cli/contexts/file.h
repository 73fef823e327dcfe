// The file of a user's contexts: JSON, mode 0600, in the folder for settings.
//
//   {"current": "prod", "contexts": {"prod": {"endpoints": "10.0.0.1:7400", "timeout": "2s"}}}
//
// It decides which cluster a command reaches, so one that others may write is refused. One thread.
#pragma once

#include "cli/contexts/contexts.h"
#include "common/status.h"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace gcoord::cli {

// Looks up an environment variable; a parameter so that tests bring their own.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

// gcoord/contexts.json in $XDG_CONFIG_HOME, else in $HOME/.config; only absolute folders count.
// Empty where neither is set.
std::filesystem::path contexts_path(const Environment& environment);

// None where there is no file, or no path. GC1003 for a file that cannot be read, is above 1 MiB,
// is of another user or may be written by others; GC1004 for one that is not of this form.
Result<Contexts> read_contexts(const std::filesystem::path& path);

// Reads the file, applies the change and puts the result in its place, whole or not at all; a
// failure of the change changes nothing. Makes the folder. Two at a time: the second is refused.
Status change_contexts(const std::filesystem::path& path,
                       const std::function<Status(Contexts&)>& change);

}  // namespace gcoord::cli
