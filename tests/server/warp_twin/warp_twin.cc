#include "tests/server/warp_twin/warp_twin.h"

#include "common/assert.h"
#include "common/random.h"

#include <ucontext.h>

#include <array>
#include <cstddef>

namespace gcoord::twin {
namespace {

constexpr std::size_t kStackBytes = 256 * 1024;
// Passes of a round; who has not rested by then waits for a meeting that nobody comes to.
constexpr std::uint64_t kPassesMax = 1'000'000;

struct Group;
struct BlockState;

struct Member {
  ucontext_t context{};
  std::unique_ptr<std::byte[]> stack;
  const std::function<void()>* body = nullptr;
  Group* group = nullptr;
  std::uint32_t lane = 0;
  std::uint32_t meetings = 0;
  bool resting = false;
  bool ended = false;
};

// A meeting's values stay while members of the next one arrive.
struct Group {
  BlockState* block = nullptr;
  std::function<void()> body;
  std::array<Member, kLanes> member;
  std::uint64_t said[2][kLanes]{};
  Meeting meeting = Meeting::None;
  std::uint32_t arrived = 0;
  std::uint64_t held = 0;  // Meetings that are over.
};

struct BlockState {
  std::vector<std::unique_ptr<Group>> groups;
  Meeting meeting = Meeting::None;
  bool answer[2]{};
  std::uint32_t arrived = 0;
  std::uint64_t held = 0;
};

ucontext_t outside;
Member* current = nullptr;

void leave() {
  Member* const self = current;
  current = nullptr;
  GCOORD_ASSERT(swapcontext(&self->context, &outside) == 0);
}

void enter(Member& member) {
  current = &member;
  GCOORD_ASSERT(swapcontext(&outside, &member.context) == 0);
}

void run_member() {
  (*current->body)();
  current->ended = true;
  leave();
}

void begin(Member& member) {
  member.stack = std::make_unique<std::byte[]>(kStackBytes);
  GCOORD_ASSERT(getcontext(&member.context) == 0);
  member.context.uc_stack.ss_sp = member.stack.get();
  member.context.uc_stack.ss_size = kStackBytes;
  member.context.uc_link = nullptr;
  makecontext(&member.context, run_member, 0);
}

}  // namespace

struct Block::Parts {
  BlockState state;
  std::uint64_t rounds = 0;
};

bool in_group() {
  return current != nullptr;
}

std::uint32_t rank() {
  return current->lane;
}

const std::uint64_t* gather(Meeting meeting, std::uint64_t value) {
  Group& group = *current->group;
  const std::uint32_t side = current->meetings++ % 2;
  GCOORD_ASSERT(group.arrived == 0 || group.meeting == meeting);
  group.meeting = meeting;
  group.said[side][current->lane] = value;
  const std::uint64_t held = group.held;
  if (++group.arrived == kLanes) {
    group.arrived = 0;
    ++group.held;
  }
  while (group.held == held) {
    leave();
  }
  return group.said[side];
}

bool gather_block(Meeting meeting, bool answer) {
  BlockState& block = *current->group->block;
  const std::uint64_t held = block.held;
  bool& any = block.answer[held % 2];
  GCOORD_ASSERT(block.arrived == 0 || block.meeting == meeting);
  any = block.arrived == 0 ? answer : any || answer;
  block.meeting = meeting;
  if (++block.arrived == block.groups.size() * kLanes) {
    block.arrived = 0;
    ++block.held;
  }
  while (block.held == held) {
    leave();
  }
  return any;
}

void rest() {
  current->resting = true;
  leave();
}

Block::Block(const std::vector<std::function<void()>>& body_of_group)
    : parts_(std::make_unique<Parts>()) {
  for (const auto& body : body_of_group) {
    auto group = std::make_unique<Group>();
    group->block = &parts_->state;
    group->body = body;
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
      Member& member = group->member[lane];
      member.body = &group->body;
      member.group = group.get();
      member.lane = lane;
      begin(member);
    }
    parts_->state.groups.push_back(std::move(group));
  }
}

Block::~Block() = default;

// A pass lets every member go on to its next meeting; passes end when nobody has one before it.
void Block::round() {
  auto& groups = parts_->state.groups;
  for (auto& group : groups) {
    for (Member& member : group->member) {
      member.resting = false;
    }
  }
  bool left = true;
  for (std::uint64_t passes = 0; left; ++passes) {
    GCOORD_ASSERT(passes < kPassesMax);
    left = false;
    const std::uint64_t word = random64(1, groups.size(), ++parts_->rounds);
    const std::uint32_t stride = 1 + 2 * static_cast<std::uint32_t>(word % 16);
    for (std::uint32_t k = 0; k < groups.size(); ++k) {
      Group& group = *groups[(k + (word >> 8)) % groups.size()];
      for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
        Member& member = group.member[(lane * stride + (word >> 16)) % kLanes];
        if (!member.ended && !member.resting) {
          left = true;
          enter(member);
        }
      }
    }
  }
}

}  // namespace gcoord::twin
