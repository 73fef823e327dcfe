// The pages of one node, read over HTTP into a bundle.
//
// What a node says is not trusted: a page has a size that it may have, and all of them together
// have one. Blocks; several threads may read several nodes at once.
#pragma once

#include "cli/bundle/deadline.h"
#include "cli/bundle/node_identity.h"
#include "cli/ledger/http_tiles.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gcoord::cli {

// Something that was collected.
struct BundleFile {
  std::string name;  // In its bundle: "node-1/log.txt".
  std::string content;
  std::string source;          // Where it came from, for people.
  std::uint64_t begun_ms = 0;  // Unix time here.
  std::uint64_t took_ms = 0;
  bool cut = false;  // The content is only its beginning.
};

// Something that was not.
struct BundleGap {
  std::string name;
  std::uint32_t node = 0;  // 0: not known, or of no node.
  std::string why;
  bool failed = true;  // False: the node's operator has not allowed it.
};

struct BundleContent {
  std::vector<BundleFile> files;
  std::vector<BundleGap> gaps;
};

// What is left of the size of a bundle. Thread-safe.
class ByteBudget {
 public:
  explicit ByteBudget(std::uint64_t bytes) : left_(bytes) {}

  // False, and nothing is taken, when there is less.
  bool take(std::uint64_t bytes);

 private:
  std::atomic<std::uint64_t> left_;
};

struct PageReading {
  HttpAddress address;
  std::string folder;
  std::uint32_t node = 0;
  // Whose pages these should be; what is 0 is not compared.
  NodeIdentity expected;
  std::chrono::seconds sample{5};  // How long threads and processors are sampled.
  // Between two tries of a page whose node samples for somebody else.
  std::chrono::milliseconds busy_pause{500};
  const Deadline* deadline = nullptr;
  ByteBudget* budget = nullptr;
};

// Reads all pages one after the other. Where the first gets no answer, or is that of another node,
// the others are not tried. A node that samples for somebody else (503) is asked again for as long
// as that can take, and for half of the time that is left at most.
BundleContent read_pages(const PageReading& reading);

// The gaps of a node of which no page can be read.
std::vector<BundleGap> no_pages(const std::string& folder,
                                std::uint32_t node,
                                const std::string& why);

// Whose pages are here; nothing: nobody answers within the time, or the answer does not tell.
std::optional<NodeIdentity> identity_at(const HttpAddress& address,
                                        std::chrono::milliseconds timeout);

}  // namespace gcoord::cli
