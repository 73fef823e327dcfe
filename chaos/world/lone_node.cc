#include "chaos/world/lone_node.h"

#include <utility>

namespace gcoord::chaos {
namespace {

constexpr std::uint64_t kNowUs = 1'000'000;

}  // namespace

LoneNode::LoneNode(const WorldOptions& options, NodeId id)
    : options_(options), id_(id), network_(options.seed) {}

LoneNode::Known LoneNode::start(std::unique_ptr<WorldDisk> disk) {
  WorldNode node(options_,
                 id_,
                 WorldNodeEnvironment{.network = network_,
                                      .trace = [](const server::ShardTransition&, std::uint32_t) {},
                                      .on_failing = [](NodeId) {},
                                      .on_message = [](const consensus::Message&, std::uint32_t) {},
                                      .reply = [](NodeId,
                                                  protocol::ConnectionId,
                                                  const protocol::ReplySlot&,
                                                  std::span<const std::byte>) {}});
  node.swap_disk(std::move(disk));
  Known known{.opened = node.start(kNowUs)};
  if (known.opened.ok()) {
    known.facts = node.recovered();
  }
  return known;
}

}  // namespace gcoord::chaos
