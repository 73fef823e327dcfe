#include "chaos/rings/ring_attack.h"

#include "chaos/random/draw.h"
#include "chaos/rings/intruder.h"
#include "chaos/rings/names.h"
#include "netcore/memory/order.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::chaos {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::array<std::string_view, 3> kNames = {"scribble", "die-in-write", "never-read"};

// So few that the limits of one user leave room for honest clients.
constexpr std::size_t kUnreadConnections = 8;

// A node that is starting, or gone for now.
void wait_a_little() {
  ::poll(nullptr, 0, 20);
}

// One of the eight words of the memory.
std::uint64_t& any_word(Intruder& intruder, Draw& draw) {
  netcore::ClientRingWords& words =
      draw.one_in(2) ? *intruder.requests().words : *intruder.replies().words;
  switch (draw.below(4)) {
    case 0:
      return words.written;
    case 1:
      return words.read;
    case 2:
      return words.reader_sleep;
    default:
      return words.writer_wait;
  }
}

std::uint64_t any_value(const Intruder& intruder, Draw& draw) {
  switch (draw.below(4)) {
    case 0:
      return draw.word();
    case 1:
      return draw.below(1 << 20);
    case 2:
      return std::uint64_t{draw.below(1 << 12)} * netcore::kRingLineBytes;
    default:  // A little more than there is.
      return netcore::SystemOrder::observe(intruder.requests().words->written) +
             std::uint64_t{draw.between(1, 4)} * netcore::kRingLineBytes;
  }
}

// The node may be reading there.
void flip_bytes(const netcore::ClientRingView& ring, Draw& draw) {
  for (std::uint32_t count = draw.between(1, 2000); count > 0; --count) {
    ring.bytes[draw.below(ring.capacity)] ^= static_cast<std::byte>(draw.below(256));
  }
}

// Gives pages back to the system: the next look finds zeros.
void drop_pages(const netcore::ClientRingView& ring) {
  ::madvise(ring.bytes, ring.capacity, MADV_REMOVE);
}

void misuse(Intruder& intruder, Draw& draw) {
  switch (draw.below(8)) {
    case 0:
    case 1:
    case 2:
      intruder.write(intruder.next_frame(draw.between(1, 60)));
      if (draw.one_in(3)) {
        flip_bytes(intruder.requests(), draw);
      }
      break;
    case 3:
      flip_bytes(intruder.requests(), draw);
      break;
    case 4:
      flip_bytes(intruder.replies(), draw);
      break;
    case 5:
      netcore::SystemOrder::publish(any_word(intruder, draw), any_value(intruder, draw));
      intruder.ring();
      break;
    case 6:
      intruder.ring(draw.between(1, 1000));
      break;
    default:
      drop_pages(draw.one_in(2) ? intruder.requests() : intruder.replies());
      break;
  }
}

void scribble(Intruder& intruder, Draw& draw, RingAttackCounts& counts) {
  intruder.write(intruder.next_frame(0));
  for (std::uint32_t times = draw.between(1, 60); times > 0 && !intruder.is_ended(); --times) {
    misuse(intruder, draw);
  }
  counts.ended += intruder.is_ended(std::chrono::milliseconds{50}) ? 1 : 0;
}

// In a process of its own, which this ends.
[[noreturn]] void die_in_write(const std::string& path, Draw& draw) {
  std::optional<Intruder> intruder = Intruder::connect(path);
  if (!intruder.has_value()) {
    ::_exit(1);
  }
  for (std::uint32_t frames = draw.below(4); frames > 0; --frames) {
    intruder->write(intruder->next_frame(draw.between(1, 20)));
  }
  const std::vector<std::byte> frame = intruder->next_frame(draw.between(1, 200));
  const auto part = std::span{frame}.first(draw.below(static_cast<std::uint32_t>(frame.size())));
  switch (draw.below(3)) {
    case 0:
      intruder->write(part);  // Half a frame in a whole piece.
      break;
    case 1:
      intruder->write_unpublished(part);
      break;
    default: {  // More is said to be there than was written.
      std::uint64_t& written = intruder->requests().words->written;
      netcore::SystemOrder::publish(written, written + netcore::kRingLineBytes);
      intruder->ring();
      break;
    }
  }
  ::raise(SIGKILL);
  ::_exit(1);
}

// Whether there were rings.
bool let_one_die(const std::string& path, Draw& draw) {
  const pid_t child = ::fork();
  if (child == 0) {
    die_in_write(path, draw);
  }
  int status = 0;
  return child > 0 && ::waitpid(child, &status, 0) == child && WIFSIGNALED(status);
}

// A connection whose replies nobody reads.
struct Unread {
  std::optional<Intruder> intruder;
  std::vector<std::byte> waiting;  // Of a frame, what did not fit.
  std::uint32_t idle_passes = 0;   // In a row, in which the node has taken nothing.
  bool held_back = false;          // It has been, and is counted.
};

// Then it is held back, and not only late.
constexpr std::uint32_t kHeldPasses = 5;

// Writes until the node takes no more.
void write_on(Unread& unread, RingAttackCounts& counts) {
  Intruder& intruder = *unread.intruder;
  for (std::uint32_t frames = 0; frames < 100; ++frames) {
    if (unread.waiting.empty()) {
      unread.waiting = intruder.next_frame(200);
    }
    const std::size_t count = intruder.write(unread.waiting);
    unread.waiting.erase(unread.waiting.begin(),
                         unread.waiting.begin() + static_cast<std::ptrdiff_t>(count));
    if (!unread.waiting.empty() && count == 0) {
      const bool is_held = ++unread.idle_passes >= kHeldPasses;
      counts.held_back += is_held && !unread.held_back ? 1 : 0;
      unread.held_back = unread.held_back || is_held;
      return;
    }
    unread.idle_passes = 0;
  }
}

void never_read(const RingAttackOptions& options,
                Clock::time_point until,
                RingAttackCounts& counts) {
  std::vector<Unread> connections(kUnreadConnections);
  while (Clock::now() < until) {
    for (Unread& each : connections) {
      if (!each.intruder.has_value()) {
        each = Unread{.intruder = Intruder::connect(options.path)};
        counts.rings += each.intruder.has_value() ? 1 : 0;
      }
      if (!each.intruder.has_value()) {
        continue;
      }
      if (each.intruder->is_ended()) {
        ++counts.ended;
        each.intruder.reset();
      } else {
        write_on(each, counts);
      }
    }
    wait_a_little();
  }
}

}  // namespace

std::optional<RingAttack> ring_attack_of(std::string_view name) {
  return value_named<RingAttack>(kNames, name);
}

std::string_view ring_attack_name(RingAttack attack) {
  return kNames[static_cast<std::size_t>(attack)];
}

RingAttackCounts attack_rings(const RingAttackOptions& options) {
  RingAttackCounts counts;
  const auto until = Clock::now() + options.length;
  if (options.attack == RingAttack::NeverRead) {
    never_read(options, until, counts);
    return counts;
  }
  for (std::uint64_t number = 1; Clock::now() < until; ++number) {
    Draw draw{options.seed, number};
    bool got = false;
    if (options.attack == RingAttack::DieInWrite) {
      got = let_one_die(options.path, draw);
    } else if (auto intruder = Intruder::connect(options.path); intruder.has_value()) {
      got = true;
      scribble(*intruder, draw, counts);
    }
    counts.rings += got ? 1 : 0;
    if (!got) {
      wait_a_little();
    }
  }
  return counts;
}

}  // namespace gcoord::chaos
