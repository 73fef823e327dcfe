// The C++ of README.md compiles without a warning under -Wextra, as users call their compilers.
#pragma GCC diagnostic error "-Wmissing-field-initializers"
#include "tests/source_dir.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>

// The document's own lines begin here.
#include "gcoord/client.h"

namespace gcoord::client {
namespace {

[[maybe_unused]] void write_checkpoint(std::uint64_t) {}

// Never called: there is no cluster here.
[[maybe_unused]] void as_in_the_readme() {
  // clang-format off
auto client = gcoord::client::Client::connect({.endpoints = {"127.0.0.1:7401", "127.0.0.1:7402"}});
auto session = client.value().open_session({.ttl = std::chrono::seconds{10}});
auto lock = session.value().acquire("jobs/train-7", {});  // Queues; see AcquireOptions.
write_checkpoint(lock.value().fence());                   // Every write carries the token.
                                           // clang-format on
}

// And what its readers write next.
[[maybe_unused]] void as_its_readers_go_on(Client& client, Session& session) {
  static_cast<void>(session.acquire("a", {.wait = std::chrono::seconds{1}}).ok());
  static_cast<void>(session.acquire("a", {.shared = true}).ok());
  static_cast<void>(client.list({.limit = 10}).ok());
  static_cast<void>(client.list({.prefix = "jobs/"}).ok());
  static_cast<void>(client.break_lock("a", {.reason = "it hangs"}).ok());
  static_cast<void>(session.election("a").campaign({.priority = 2}).ok());
  static_cast<void>(client.read("a", {.consistency = Consistency::Lease}).ok());
  static_cast<void>(client.watch({.name = "a"}).ok());
}

std::string text_of(const char* path) {
  std::ostringstream text;
  text << std::ifstream{in_sources(path)}.rdbuf();
  return text.str();
}

TEST(Readme, ItsCodeIsTheCodeThatWasCompiledHere) {
  const std::string readme = text_of("README.md");
  const std::size_t begin = readme.find("```cpp\n") + 7;
  std::istringstream block{readme.substr(begin, readme.find("```", begin) - begin)};
  const std::string here = text_of("tests/client/readme_test.cc");
  std::size_t lines = 0;
  for (std::string line; std::getline(block, line); ++lines) {
    EXPECT_NE(here.find(line + "\n"), std::string::npos) << line;
  }
  EXPECT_GE(lines, 5u);
}

}  // namespace
}  // namespace gcoord::client
