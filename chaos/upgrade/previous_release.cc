#include "chaos/upgrade/previous_release.h"

#include "common/host/child_process.h"

#include <cstdio>
#include <optional>
#include <utility>

namespace gcoord::chaos {

namespace {

constexpr std::chrono::hours kBuildTimeout{2};
constexpr std::chrono::seconds kGitTimeout{30};
constexpr std::size_t kNameDigits = 12;  // Of a commit; git's own abbreviations are shorter.

std::filesystem::path built_program(const std::filesystem::path& folder) {
  return folder / "build/cpu/bin/gcoordd";
}

std::optional<std::filesystem::path> program_in(const std::filesystem::path& folder) {
  std::error_code ignored;
  for (const char* place : {"gcoordd", "bin/gcoordd"}) {
    if (std::filesystem::is_regular_file(folder / place, ignored)) {
      return std::filesystem::absolute(folder / place, ignored);
    }
  }
  return std::nullopt;
}

// The whole name of a commit; empty when git knows none of this name.
Result<std::string> whole_name(const std::string& commit, const std::filesystem::path& repository) {
  ChildOptions options;
  options.arguments = {
      "git", "-C", repository.string(), "rev-parse", "--verify", "--quiet", commit + "^{commit}"};
  options.capture_output = true;
  GCOORD_TRY(auto git, ChildProcess::start(options));
  const auto line = git.read_line(kGitTimeout);
  const bool known = git.wait_for(kGitTimeout) == 0 && line.has_value();
  return known ? *line : std::string{};
}

Status run(const std::vector<std::string>& command) {
  ChildOptions options;
  options.arguments = command;
  options.output_file = "/dev/stderr";  // stdout is for results.
  GCOORD_TRY(auto child, ChildProcess::start(options));
  const auto status = child.wait_for(kBuildTimeout);
  if (status == 0) {
    return {};
  }
  std::string text;
  for (const std::string& word : command) {
    text += (text.empty() ? "" : " ") + word;
  }
  return {StatusCode::FailedPrecondition, "the previous release cannot be built: " + text};
}

}  // namespace

std::vector<std::vector<std::string>> build_commands(const std::filesystem::path& repository,
                                                     const std::filesystem::path& folder,
                                                     const std::string& commit) {
  std::vector<std::vector<std::string>> commands;
  if (!std::filesystem::exists(folder)) {
    // --force: git may remember a worktree there that was removed with its folder.
    commands.push_back({"git",
                        "-C",
                        repository.string(),
                        "worktree",
                        "add",
                        "--quiet",
                        "--force",
                        "--detach",
                        folder.string(),
                        commit});
  }
  commands.push_back({"cmake", "-S", folder.string(), "--preset", "cpu"});
  commands.push_back({"cmake", "--build", (folder / "build/cpu").string(), "--target", "gcoordd"});
  return commands;
}

Result<ReleasePrograms> previous_release(const std::string& which, const ReleasePlaces& places) {
  std::error_code ignored;
  if (std::filesystem::is_directory(which, ignored)) {
    const auto program = program_in(which);
    if (!program.has_value()) {
      return Status{StatusCode::NotFound, which + " has neither gcoordd nor bin/gcoordd"};
    }
    return ReleasePrograms{.name = which, .gcoordd = *program};
  }
  GCOORD_TRY(const std::string commit, whole_name(which, places.repository));
  if (commit.empty()) {
    return Status{StatusCode::NotFound,
                  which + " is neither a folder nor a commit of " + places.repository.string()};
  }
  const std::string name = commit.substr(0, kNameDigits);
  const auto folder = std::filesystem::absolute(places.cache / name, ignored);
  if (!std::filesystem::exists(built_program(folder))) {
    std::fprintf(stderr, "build release %s in %s\n", name.c_str(), folder.c_str());
    for (const auto& command : build_commands(places.repository, folder, commit)) {
      GCOORD_TRY_STATUS(run(command));
    }
  }
  return ReleasePrograms{.name = name, .gcoordd = built_program(folder)};
}

}  // namespace gcoord::chaos
