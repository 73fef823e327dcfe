// gcoord-node: one node over stdin and stdout, in Maelstrom's message format
// (cli/maelstrom/maelstrom_node.h, docs/reference/machine_interfaces.md).
//
// Exit codes: 0 at the end of the input, 1 when the node cannot go on, 2 on a wrong option. stderr
// is for people.
#include "cli/maelstrom/maelstrom_node.h"
#include "common/json/text.h"

#include <CLI/CLI.hpp>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace gcoord::cli {
namespace {

// A message of a frame of 1 MiB in hexadecimal, and its surroundings.
constexpr std::size_t kLineBytesMax = std::size_t{4} << 20;

// A fresh directory that goes away with the process, unless one was named.
class NodeDirectory {
 public:
  explicit NodeDirectory(const std::string& named) : path_(named), kept_(!named.empty()) {
    if (path_.empty()) {
      std::string pattern = std::filesystem::temp_directory_path() / "gcoord-node-XXXXXX";
      path_ = ::mkdtemp(pattern.data()) == nullptr ? "" : pattern;
    }
  }

  ~NodeDirectory() {
    std::error_code ignored;
    if (!kept_ && !path_.empty()) {
      std::filesystem::remove_all(path_, ignored);
    }
  }

  NodeDirectory(const NodeDirectory&) = delete;
  NodeDirectory& operator=(const NodeDirectory&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool kept_;
};

class Conversation {
 public:
  explicit Conversation(const MaelstromNodeOptions& options)
      : door_(options, [](const Json& message) {
          const std::string line = canonical_json(message) + "\n";
          std::fwrite(line.data(), 1, line.size(), stdout);
        }) {}

  int run() {
    while (door_.failure().ok() && !std::ferror(stdout)) {
      door_.run_turns();
      std::fflush(stdout);
      if (door_.failure().ok() && !wait_and_read()) {
        return 0;
      }
    }
    std::fprintf(stderr, "gcoord-node: %s\n", door_.failure().to_string().c_str());
    return 1;
  }

 private:
  // False at the end of the input.
  bool wait_and_read() {
    std::vector<pollfd> waited = {{STDIN_FILENO, POLLIN, 0}};
    for (const int fd : door_.event_fds()) {
      waited.push_back({fd, POLLIN, 0});
    }
    const auto timeout = std::min<long long>(door_.until_next_deadline().count(), 1000);
    ::poll(waited.data(), waited.size(), static_cast<int>(timeout));
    return waited[0].revents == 0 || read_lines();
  }

  bool read_lines() {
    char bytes[1 << 16];
    const ssize_t count = ::read(STDIN_FILENO, bytes, sizeof(bytes));
    if (count <= 0) {
      return false;
    }
    pending_.append(bytes, static_cast<std::size_t>(count));
    std::size_t front = 0;
    for (std::size_t end = pending_.find('\n'); end != std::string::npos;
         end = pending_.find('\n', front)) {
      door_.on_line(std::string_view{pending_}.substr(front, end - front));
      front = end + 1;
    }
    pending_.erase(0, front);
    return pending_.size() <= kLineBytesMax;
  }

  MaelstromNode door_;
  std::string pending_;
};

int main_of(int argc, char** argv) {
  CLI::App app{"run one node over stdin and stdout in Maelstrom's message format", "gcoord-node"};
  MaelstromNodeOptions options;
  std::string folder;
  app.add_option("--data-dir", folder, "directory of the node's log (default: a temporary one)");
  app.add_option("--shards", options.shards, "number of shards for the keys (default 16)")
      ->check(CLI::Range(1, 4096));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const NodeDirectory directory{folder};
  if (directory.path().empty()) {
    std::fprintf(stderr, "gcoord-node: no temporary directory can be made; give --data-dir\n");
    return 1;
  }
  options.directory = directory.path();
  return Conversation{options}.run();
}

}  // namespace
}  // namespace gcoord::cli

int main(int argc, char** argv) {
  return gcoord::cli::main_of(argc, argv);
}
