#include "chaos/sim/members_hunt.h"

#include "chaos/sim/sim_world.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

namespace gcoord::chaos {
namespace {

std::string violation_of(Mutant mutant, std::uint64_t seed) {
  SimOptions options = options_of_seed(seed);
  change_members(options);
  options.mutant = mutant;
  return SimWorld(options).run().violation;
}

// In the child: what went wrong goes to the pipe, and an assertion to nobody.
[[noreturn]] void run_child(Mutant mutant, std::uint64_t seed, int to_parent) {
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  ::dup2(nowhere, STDERR_FILENO);
  const std::string violation = violation_of(mutant, seed);
  const std::string line = violation.substr(0, violation.find('\n'));
  const bool written = ::write(to_parent, line.data(), line.size()) >= 0;
  ::_exit(written && line.empty() ? 0 : 1);
}

// What the world of the seed shows; empty: nothing.
std::string run_apart(Mutant mutant, std::uint64_t seed) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) {
    return {};
  }
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    run_child(mutant, seed, ends[1]);
  }
  ::close(ends[1]);
  std::string line;
  std::array<char, 512> buffer{};
  for (ssize_t count = 0; (count = ::read(ends[0], buffer.data(), buffer.size())) > 0;) {
    line.append(buffer.data(), static_cast<std::size_t>(count));
  }
  ::close(ends[0]);
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) {
    return {};
  }
  return WIFSIGNALED(status) ? "an assertion of the step" : line;
}

}  // namespace

HuntedSeed hunt_in_changing_members(Mutant mutant, const SeedRange& seeds) {
  for (std::uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    std::string what = run_apart(mutant, seed);
    if (!what.empty()) {
      return {seed, std::move(what)};
    }
  }
  return {};
}

}  // namespace gcoord::chaos
