// Signatures of nodes under sizes of the cluster log, until a majority is under one of them.
//
// Nodes sign at their own pace, so a few sizes are kept at a time; what is not newer than the
// newest published log is of no use any more. What others say of sizes that this node has not
// reached is kept and counts only once this node's own log has that root. One thread.
#pragma once

#include "common/ids.h"
#include "ledger/heads/message.h"
#include "ledger/heads/port.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>

namespace gcoord::server {

class SignatureSet {
 public:
  // Sizes at once: a node far ahead of the others is no reason to forget what they sign now.
  static constexpr std::size_t kSizesMax = 8;

  // A genuine signature of a node. False: not kept.
  bool add(NodeId node, const SignatureMessage& message);

  // The largest size under which more than half of the voters have signed `root_of(size)`, with
  // their signatures; those under another root and of other nodes do not count. voters: ascending.
  // root_of returns an optional<MerkleHash>.
  template <typename RootOf>
  std::optional<PublishedLog> newest(std::span<const NodeId> voters, RootOf&& root_of) const {
    const std::size_t count = voters.size() / 2 + 1;
    for (auto each = signatures_.rbegin(); each != signatures_.rend(); ++each) {
      if (each->second.size() < count) {
        continue;
      }
      const std::optional<ledger::MerkleHash> root = root_of(each->first);
      PublishedLog log{.size = each->first, .root = root.value_or(ledger::MerkleHash{})};
      for (const auto& [node, message] : each->second) {
        if (root && message.root == *root && std::ranges::binary_search(voters, node)) {
          log.signatures[node] = message.signature;
        }
      }
      if (log.signatures.size() >= count) {
        return log;
      }
    }
    return std::nullopt;
  }

  void clear() { signatures_.clear(); }

  // Nothing below `size` is asked for again.
  void forget_below(std::uint64_t size);

 private:
  std::uint64_t floor_ = 0;
  std::map<std::uint64_t, std::map<NodeId, SignatureMessage>> signatures_;
};

}  // namespace gcoord::server
