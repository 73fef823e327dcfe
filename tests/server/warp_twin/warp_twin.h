// Blocks of groups of 32 members on one thread of a host: each member is a context of its own
// (ucontext), which runs until it meets the others.
//
// Members of a group that come to different meetings at once would hang a device or read each
// other's garbage: here that ends the test. In what order members run changes with every round, so
// that what is not ordered by a meeting is seen in many orders. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace gcoord::twin {

inline constexpr std::uint32_t kLanes = 32;

enum class Meeting : std::uint8_t {
  None,
  Sync,
  Ballot,
  Broadcast,
  Sum,
  SumBelow,
  Match,
  Least,
  Block,
  BlockAny,
};

// Whether this is a member of a group, and which.
bool in_group();
std::uint32_t rank();

// Brings a value to a meeting of the group; what all of them brought, until the next but one.
const std::uint64_t* gather(Meeting meeting, std::uint64_t value);

// The same of all groups of a block: whether any said yes.
bool gather_block(Meeting meeting, bool answer);

// Ends this member's part of a round.
void rest();

class Block {
 public:
  // One body for all members of each group; they begin with the first round.
  explicit Block(const std::vector<std::function<void()>>& body_of_group);
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  // Until every member rests or has ended.
  void round();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace gcoord::twin
