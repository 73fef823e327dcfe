// Evidence in the data directory of a node: one file for each double vote, named by what it shows.
//
// DIR/evidence is made with the first file. Bounded: kFilesMax files and kVoterFilesMax of one
// voter, so that one node cannot fill it; nothing is ever removed by the node. Files that are no
// evidence are left alone and listed nowhere. A failure loses the evidence, not the node. One
// thread, which waits for the disk.
#pragma once

#include "common/status.h"
#include "server/evidence/double_vote.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::server {

class EvidenceStore {
 public:
  static constexpr std::size_t kFilesMax = 64;
  static constexpr std::size_t kVoterFilesMax = 16;
  static constexpr const char* kFolder = "evidence";

  // The data directory, which need not exist yet.
  explicit EvidenceStore(std::string data_directory) : directory_(std::move(data_directory)) {}

  // Reads what is there; what cannot be read is said in `damaged`. Failures: the disk's.
  Status load(std::vector<std::string>& damaged);

  // Whether there is evidence of it, whichever the candidates are.
  bool has(const DoubleVote& shown) const;

  // Whether there is room for one more of the voter.
  bool has_room(NodeId voter) const;

  // Durable when it returns ok. It is not there yet, and there is room. Failures: the disk's; the
  // evidence is listed all the same, so that it is counted once.
  Status add(const VoteEvidence& evidence);

  // In the order in which they came; those that were there before this life of the node first.
  const std::vector<DoubleVote>& list() const { return list_; }

 private:
  std::string directory_;
  std::vector<DoubleVote> list_;
};

}  // namespace gcoord::server
