// The manifest of a bundle: what is in it and what is not, as JSON. Pure; thread-safe.
#pragma once

#include "cli/bundle/archive.h"
#include "cli/bundle/collection.h"
#include "common/json/value.h"

#include <string>
#include <vector>

namespace gcoord::cli {

// The folder in which everything lies that an archive holds.
inline constexpr const char* kBundleFolder = "gcoord-debug/";

// SHA-256 as 64 hexadecimal digits.
std::string sha256_hex(const std::string& bytes);

// docs/how-to/debug_bundle.md has the members.
Json manifest_of(const Collection& collection);

// The manifest first, then all files by their names.
std::vector<ArchivedFile> archived_files(const Collection& collection);

}  // namespace gcoord::cli
