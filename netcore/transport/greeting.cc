#include "netcore/transport/greeting.h"

#include "common/incarnation.h"
#include "netcore/channel/credit.h"
#include "netcore/channel/ring.h"

#include <algorithm>
#include <cstring>

namespace gcoord::netcore {
namespace {

// The slot of a greeting, as it lies on the wire.
struct GreetingBody {
  std::uint64_t directory = 0;
  std::uint64_t life = 0;
  std::uint64_t durable = 0;
  std::uint32_t protocol = 0;
  std::uint32_t ring_slots[kBandCount] = {};
  std::uint32_t settings[5] = {};
};

static_assert(sizeof(GreetingBody) == kSlotBytes);

struct RefusalBody {
  std::uint8_t code = 0;
  std::uint8_t reserved[3] = {};
  std::uint32_t known_incarnation = 0;
  std::uint8_t rest[56] = {};
};

static_assert(sizeof(RefusalBody) == kSlotBytes);

constexpr std::uint8_t kRefusalCodeCount = 11;

// Each life of a pair of nodes gets this many epochs of its own before the next one's begin.
constexpr std::uint32_t kEpochsPerLife = 256;

static_assert(2 * std::uint64_t{kOrdinalMax} * kEpochsPerLife <= kEpochMax);

FrameHeader header_of(FrameKind kind, const Greeting& greeting) {
  FrameHeader header;
  header.kind = kind;
  header.band = Band::Control;
  header.cluster = greeting.from.cluster.value;
  header.from_node = static_cast<std::uint16_t>(greeting.from.node.value);
  header.to_node = static_cast<std::uint16_t>(greeting.to.value);
  header.incarnation = greeting.from.incarnation.value;
  header.epoch = greeting.epoch;
  return header;
}

bool is_ring_size(std::uint32_t slots) {
  return is_ring_capacity(slots) && slots >= kRingSlotsMin && slots <= kRingSlotsMax;
}

std::string name_of(const Greeting& greeting) {
  return "node " + std::to_string(greeting.from.node.value);
}

Admission refuse(RefusalCode code, std::string text) {
  return {.code = code, .text = std::move(text)};
}

// A node of the cluster whose place this one took is not there by mistake of an address.
Admission refuse_cluster(const Greeting& other, const Greeting& self) {
  const std::string theirs = std::to_string(other.from.cluster.value);
  const std::string own = std::to_string(self.from.cluster.value);
  if (self.former != ClusterId{0} && other.from.cluster == self.former) {
    return refuse(RefusalCode::WrongCluster,
                  "cluster " + theirs + " is retired: cluster " + own +
                      " took its place (gcoordd --force-new-cluster), and " + name_of(other) +
                      " of the old one was removed: delete its data directory, and add the machine "
                      "as a new node (gcoordctl member add) if it is to come back");
  }
  return refuse(RefusalCode::WrongCluster,
                name_of(other) + " belongs to cluster " + theirs + ", " + name_of(self) + " to " +
                    own + ": correct its --peer addresses or its --data-dir");
}

// What is checked in either direction.
Admission judge_identity(const Greeting& other, const Greeting& self, const CallerRecord& record) {
  if (other.protocol != kPeerProtocol) {
    return refuse(RefusalCode::WrongVersion,
                  name_of(other) + " speaks peer protocol " + std::to_string(other.protocol) +
                      ", " + name_of(self) + " speaks " + std::to_string(kPeerProtocol) +
                      ": run compatible versions of gcoordd");
  }
  if (other.from.cluster != self.from.cluster) {
    return refuse_cluster(other, self);
  }
  if (other.from.node == self.from.node) {
    return refuse(
        RefusalCode::DuplicateNode,
        "two nodes have the id " + name_of(self) + ": give each its own --node-id and --data-dir");
  }
  if (record.is_removed) {
    return refuse(
        RefusalCode::RemovedNode,
        name_of(other) +
            " was removed from the cluster, and its id is not used again: delete its data "
            "directory, and add the machine as a new node if it is to come back");
  }
  if (other.to != self.from.node || !record.is_configured) {
    return refuse(RefusalCode::UnknownNode,
                  name_of(other) + " asked for node " + std::to_string(other.to.value) + " at " +
                      name_of(self) + ", which knows " +
                      (record.is_configured ? "it under another number" : "no such peer") +
                      ": make the --peer options of all nodes agree");
  }
  return {};
}

Admission judge_incarnation(const Greeting& other, const CallerRecord& record) {
  if (other.from.incarnation < record.incarnation) {
    return {.code = RefusalCode::OldIncarnation,
            .text = name_of(other) + " came back in incarnation " +
                    std::to_string(other.from.incarnation.value) + " after " +
                    std::to_string(record.incarnation.value) +
                    ": its data directory is an old copy; start it with the newest one or, if "
                    "that is lost, with --rejoin",
            .known = record.incarnation};
  }
  return {};
}

// While the channel to a node lives, another process that claims its id is no old life of it. Only
// a later life of the same directory takes the channel over: the end of the one before may not have
// been noticed yet.
Admission judge_process(const Greeting& hello, const CallerRecord& live) {
  const PeerIdentity& from = hello.from;
  if (!live.is_up) {
    return {};
  }
  if (from.directory != live.directory) {
    return refuse(RefusalCode::DuplicateNode,
                  "a live node with another data directory is already " + name_of(hello) +
                      ": stop one of the two, or give this one its own --node-id");
  }
  const bool same_start = from.incarnation == live.incarnation;
  const bool other_life = from.life != live.life && from.life != 0 && live.life != 0;
  if (from.incarnation < live.incarnation || (same_start && other_life)) {
    return refuse(RefusalCode::DuplicateNode,
                  name_of(hello) + " already lives, in another process with a copy of this data " +
                      "directory: stop one of the two, and keep the directory of the other");
  }
  return {};
}

}  // namespace

std::string_view refusal_code_name(RefusalCode code) {
  static constexpr std::array<std::string_view, kRefusalCodeCount> kNames = {"none",
                                                                             "wrong-version",
                                                                             "wrong-cluster",
                                                                             "unknown-node",
                                                                             "duplicate-node",
                                                                             "old-incarnation",
                                                                             "replaced-directory",
                                                                             "not-admitted",
                                                                             "call-crossed",
                                                                             "different-settings",
                                                                             "removed-node"};
  const auto index = static_cast<std::size_t>(code);
  return index < kNames.size() ? kNames[index] : std::string_view{"unknown"};
}

void encode_greeting(FrameKind kind,
                     const Greeting& greeting,
                     std::span<std::byte, kGreetingBytes> out) {
  GreetingBody body;
  body.directory = greeting.from.directory.value;
  body.life = greeting.from.life;
  body.durable = greeting.from.durable;
  body.protocol = greeting.protocol;
  std::copy(greeting.from.settings.begin(), greeting.from.settings.end(), body.settings);
  std::copy(greeting.ring_slots.begin(), greeting.ring_slots.end(), body.ring_slots);
  Slot slot;
  std::memcpy(&slot, &body, sizeof(slot));
  encode_frame(header_of(kind, greeting), {&slot, 1}, {}, 0, out);
}

DropReason decode_greeting(const FrameView& frame, Greeting& greeting) {
  const FrameHeader& header = frame.header;
  if (header.kind != FrameKind::Hello && header.kind != FrameKind::Welcome) {
    return DropReason::UnexpectedKind;
  }
  if (frame.slots.size() != 1 || !frame.payloads.empty()) {
    return DropReason::BadLength;
  }
  GreetingBody body;
  std::memcpy(&body, frame.slots.front().bytes, sizeof(body));
  greeting.from.cluster = ClusterId{header.cluster};
  greeting.from.node = NodeId{header.from_node};
  greeting.from.incarnation = Incarnation{header.incarnation};
  greeting.from.directory = DirectoryId{body.directory};
  greeting.from.life = body.life;
  greeting.from.durable = body.durable;
  std::copy(std::begin(body.settings), std::end(body.settings), greeting.from.settings.begin());
  greeting.to = NodeId{header.to_node};
  greeting.protocol = body.protocol;
  greeting.epoch = header.epoch;
  std::copy(std::begin(body.ring_slots), std::end(body.ring_slots), greeting.ring_slots.begin());
  const bool rings_fit =
      std::all_of(greeting.ring_slots.begin(), greeting.ring_slots.end(), is_ring_size);
  // Another protocol may lay out the rest differently: let the judge see it and say so.
  const bool is_plausible = rings_fit && header.from_node != 0 && header.epoch <= kEpochMax &&
                            is_possible(greeting.from.incarnation);
  if (greeting.protocol == kPeerProtocol && !is_plausible) {
    return DropReason::BadField;
  }
  return DropReason::None;
}

std::size_t encode_refusal(const Greeting& from,
                           const Refusal& refusal,
                           std::span<std::byte, kStrangerBytesMax> out) {
  RefusalBody body;
  body.code = static_cast<std::uint8_t>(refusal.code);
  body.known_incarnation = refusal.known.value;
  Slot slot;
  std::memcpy(&slot, &body, sizeof(slot));
  const std::string_view text = std::string_view{refusal.text}.substr(0, kRefusalTextBytesMax);
  const PayloadExtent extent{0, std::as_bytes(std::span{text})};
  const std::size_t bytes = frame_bytes(1, {&extent, 1});
  encode_frame(header_of(FrameKind::Refusal, from), {&slot, 1}, {&extent, 1}, 0, out.first(bytes));
  return bytes;
}

DropReason decode_refusal(const FrameView& frame, Refusal& refusal) {
  if (frame.header.kind != FrameKind::Refusal) {
    return DropReason::UnexpectedKind;
  }
  if (frame.slots.size() != 1 || frame.payloads.size() != 1) {
    return DropReason::BadLength;
  }
  RefusalBody body;
  std::memcpy(&body, frame.slots.front().bytes, sizeof(body));
  if (body.code == 0 || body.code >= kRefusalCodeCount) {
    return DropReason::BadField;
  }
  const Incarnation known{body.known_incarnation};
  if (known.value != 0 && !is_possible(known)) {
    return DropReason::BadField;
  }
  refusal.code = static_cast<RefusalCode>(body.code);
  refusal.known = known;
  const PayloadExtent extent = *frame.payloads.begin();
  const std::size_t bytes = std::min(extent.bytes.size(), kRefusalTextBytesMax);
  refusal.text.assign(reinterpret_cast<const char*>(extent.bytes.data()), bytes);
  std::replace_if(
      refusal.text.begin(), refusal.text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return DropReason::None;
}

Admission judge_hello(const Greeting& hello, const Greeting& self, const CallerRecord& caller) {
  Admission admission = judge_identity(hello, self, caller);
  if (admission.admitted()) {
    admission = judge_process(hello, caller);
  }
  if (admission.admitted()) {
    admission = judge_incarnation(hello, caller);
  }
  if (!admission.admitted()) {
    return admission;
  }
  const bool same_life = hello.from.incarnation == caller.incarnation;
  // Who remembers no epoch has not heard of the live channel, which may be far round the circle.
  const bool remembers = hello.epoch > 1;
  if (caller.is_up && same_life && !(remembers && is_later_epoch(hello.epoch, caller.epoch))) {
    return refuse(RefusalCode::CallCrossed, "a later call has been answered already");
  }
  if (caller.is_calling_it && self.from.node < hello.from.node) {
    return refuse(RefusalCode::CallCrossed, "the call of the node with the lower id is used");
  }
  return {};
}

Admission judge_welcome(const Greeting& welcome,
                        const Greeting& self,
                        const CallerRecord& expected) {
  Admission admission = judge_identity(welcome, self, expected);
  if (admission.admitted()) {
    admission = judge_incarnation(welcome, expected);
  }
  if (admission.admitted() && !is_later_epoch(welcome.epoch, expected.epoch)) {
    return refuse(RefusalCode::OldIncarnation, "the answer names a past epoch");
  }
  return admission;
}

std::uint32_t next_epoch(const Greeting& hello, Incarnation self, std::uint32_t newest_seen) {
  const std::uint32_t by_lives =
      (ordinal_of(hello.from.incarnation) + ordinal_of(self)) * kEpochsPerLife;
  const bool forgot = hello.epoch <= 1;
  if (newest_seen == 0 && forgot) {
    return std::max(by_lives, hello.epoch);
  }
  std::uint32_t epoch = newest_seen == 0 ? hello.epoch : epoch_after(newest_seen);
  const auto take_if_later = [&](std::uint32_t other) {
    if (is_later_epoch(other, newest_seen) && is_later_epoch(other, epoch)) {
      epoch = other;
    }
  };
  if (!forgot) {
    take_if_later(hello.epoch);
  }
  // Only upwards: across the end of the numbers it would jump over what nobody has used yet.
  if (by_lives > epoch) {
    take_if_later(by_lives);
  }
  return epoch;
}

}  // namespace gcoord::netcore
