// The program of an earlier release: from a folder of programs, or built from a commit.
//
// A commit is built once, in a worktree of its own below the cache, and taken from there after
// that. Blocking: a build takes minutes, and what it says goes to stderr. One thread.
#pragma once

#include "common/status.h"

#include <filesystem>
#include <string>
#include <vector>

namespace gcoord::chaos {

struct ReleasePrograms {
  std::string name;  // The folder, or the first 12 digits of the commit.
  std::filesystem::path gcoordd;
};

// Where a commit is looked up, and where its programs are kept.
struct ReleasePlaces {
  std::filesystem::path repository;
  std::filesystem::path cache;
};

// The commands that build a commit's gcoordd in `folder`, in order. The first is left out when the
// folder is there: a build that was broken off goes on.
std::vector<std::vector<std::string>> build_commands(const std::filesystem::path& repository,
                                                     const std::filesystem::path& folder,
                                                     const std::string& commit);

// `which` is a folder that has gcoordd or bin/gcoordd, or a commit as git names it. NotFound: it is
// neither. FailedPrecondition: it cannot be built.
Result<ReleasePrograms> previous_release(const std::string& which, const ReleasePlaces& places);

}  // namespace gcoord::chaos
