#include "server/members/view_keeper.h"

#include "common/incarnation.h"
#include "protocol/error_codes.h"
#include "server/platform/operator_log.h"

#include <algorithm>
#include <array>
#include <ranges>
#include <utility>

namespace gcoord::server {

namespace {

// One that no view can hold is not known.
std::string address_or_none(const std::string& address) {
  return protocol::is_member_address(address) ? address : std::string{};
}

using membership::Member;
using membership::ViewCommand;
using membership::ViewCommandKind;
using membership::ViewSettings;

// Between two looks at what may be proposed.
constexpr std::uint64_t kLookMs = 100;
constexpr std::uint64_t kWarningMs = 60'000;

struct SettingName {
  std::uint32_t ViewSettings::*member;
  const char* name;
};

// Those that every node of a cluster must have alike.
constexpr std::array kCompared = {
    SettingName{&ViewSettings::shards, "--shards"},
    SettingName{&ViewSettings::tick_ms, "--tick-ms"},
    SettingName{&ViewSettings::election_ms, "--election-ms"},
    SettingName{&ViewSettings::heartbeat_ms, "--heartbeat-ms"},
    SettingName{&ViewSettings::durability, "--durability"},
};

std::string value_text(const SettingName& setting, const ViewSettings& settings) {
  const std::uint32_t value = settings.*setting.member;
  if (setting.member != &ViewSettings::durability) {
    return std::to_string(value);
  }
  return value == 0 ? "durable" : "memory";
}

// The first setting in which they differ; nullptr: they agree.
const SettingName* difference(const ViewSettings& a, const ViewSettings& b) {
  for (const SettingName& each : kCompared) {
    if (a.*each.member != b.*each.member) {
      return &each;
    }
  }
  return nullptr;
}

// Whether the view has the node elsewhere, or in another directory, than it says itself.
bool differs(const Member& known, const Member& said) {
  return !known.described || known.peer_address != said.peer_address ||
         known.client_address != said.client_address ||
         generation_of(known.incarnation) != generation_of(said.incarnation) ||
         known.incarnation.value == 0;
}

}  // namespace

ViewKeeper::ViewKeeper(ViewKeeperOptions options, Environment environment)
    : options_(std::move(options)),
      environment_(std::move(environment)),
      epoch_gauge_(environment_.metrics.gauge(
          {"gcoord_view_epoch", "Epoch of the cluster view on this node; 0: none yet"})),
      malformed_(environment_.metrics.counter(
          {.name = "gcoord_view_announcements_malformed_total",
           .help = "Words of peers about the cluster view that could not be decoded"})),
      clashes_gauge_(environment_.metrics.gauge(
          {"gcoord_view_address_clashes",
           "Addresses that nodes say are theirs and the view does not take, because another node "
           "has them"})) {
  options_.self.peer_address = address_or_none(options_.self.peer_address);
  for (auto& [node, address] : options_.peers) {
    address = address_or_none(address);
    environment_.metrics.gauge({"gcoord_view_peer_epoch",
                                "Epoch of the cluster view that the peer said to have",
                                "peer",
                                std::to_string(node.value)});
  }
  on_view();
}

void ViewKeeper::set_client_address(const std::string& address) {
  options_.self.client_address = address_or_none(address);
  has_claims_ = true;
}

std::vector<std::byte> ViewKeeper::announcement(std::uint64_t epoch) const {
  membership::ViewAnnouncement said;
  said.epoch = epoch;
  said.settings = options_.settings;
  said.self = options_.self;
  const MembersProgress progress = environment_.log.members_progress();
  if (progress.epoch != 0) {
    said.progress = membership::ShardProgress{.epoch = progress.epoch,
                                              .led = progress.led,
                                              .settled = progress.settled,
                                              .ready = progress.ready,
                                              .settled_sum = progress.settled_sum};
  }
  const membership::ClusterView& view = environment_.machine.views().view();
  for (const NodeId node : std::views::reverse(nodes_of(view))) {
    const Member* const member = protocol::find_member(view, node);
    if (node != options_.self.id && said.others.size() < membership::kAcquaintancesMax) {
      said.others.push_back({node, member->peer_address});
    }
  }
  return membership::encode_announcement(said);
}

void ViewKeeper::hear(NodeId from, Incarnation incarnation, std::span<const std::byte> said) {
  const std::vector<NodeId> known = others();
  if (std::ranges::find(known, from) == known.end()) {
    return;
  }
  has_claims_ = true;
  auto decoded = said.empty() ? std::nullopt : membership::decode_announcement(said);
  if (!decoded || decoded->self.id != from) {
    malformed_.add(said.empty() ? 0 : 1);
    heard_.erase(from);
    return;
  }
  decoded->self.incarnation = incarnation;
  environment_.metrics
      .gauge({"gcoord_view_peer_epoch",
              "Epoch of the cluster view that the peer said to have",
              "peer",
              std::to_string(from.value)})
      .set(decoded->epoch);
  if (decoded->epoch > environment_.machine.views().view().epoch) {
    for (const membership::Acquaintance& other : decoded->others) {
      environment_.log.meet(other.node, other.peer_address);
    }
  }
  const auto heard = heard_.insert_or_assign(from, Heard{incarnation, *std::move(decoded)}).first;
  compare(heard->second);
}

std::optional<membership::ShardProgress> ViewKeeper::progress_of(NodeId node) const {
  const auto heard = heard_.find(node);
  return heard == heard_.end() ? std::nullopt : heard->second.said.progress;
}

std::uint64_t ViewKeeper::epoch_of(NodeId node) const {
  const auto heard = heard_.find(node);
  return heard == heard_.end() ? 0 : heard->second.said.epoch;
}

void ViewKeeper::on_view() {
  const membership::ClusterView& view = environment_.machine.views().view();
  epoch_gauge_.set(view.epoch);
  has_claims_ = true;
  if (view.epoch != 0) {
    std::erase_if(heard_, [&view](const auto& each) {
      const Member* const node = protocol::find_member(view, each.first);
      return node == nullptr || node->state == membership::MemberState::Removed;
    });
  }
  for (const auto& [node, heard] : heard_) {
    compare(heard);
  }
}

// Whether nodes run with the settings of the view while this one does not. Whoever is alone with
// others may be the first of a cluster that was started anew with them.
void ViewKeeper::compare(const Heard& heard) {
  const membership::ClusterView& view = environment_.machine.views().view();
  const bool follows = difference(view.settings, heard.said.settings) == nullptr;
  if (view.epoch == 0 || !failure_.ok() || !follows) {
    return;
  }
  if (const SettingName* const setting = difference(view.settings, options_.settings)) {
    failure_ = protocol::make_error(protocol::ErrorCode::ViewSettingsDiffer,
                                    std::string(setting->name) + " is " +
                                        value_text(*setting, options_.settings) + " here and " +
                                        value_text(*setting, view.settings) + " in view " +
                                        std::to_string(view.epoch));
  }
}

void ViewKeeper::on_ended(std::uint64_t cookie) {
  cookie_ = cookie == cookie_ ? 0 : cookie_;
}

void ViewKeeper::advance(std::uint64_t now_ms) {
  if (now_ms < next_ms_) {
    return;
  }
  next_ms_ = now_ms + kLookMs;
  if (std::exchange(has_claims_, false)) {
    look_at_claims();
  }
  const bool leads = environment_.log.view(kViewShard).role == consensus::Role::Leader;
  if (!leads || cookie_ != 0) {
    return;
  }
  if (environment_.machine.views().is_empty()) {
    found(now_ms);
  } else if (may_propose() && !retune(now_ms)) {
    describe();
  }
}

bool ViewKeeper::agree(const Heard& heard, NodeId node, std::uint64_t now_ms) {
  const SettingName* const setting = difference(heard.said.settings, options_.settings);
  if (setting != nullptr && now_ms >= next_warning_ms_) {
    next_warning_ms_ = now_ms + kWarningMs;
    log_warning(LogComponent::Node,
                "no cluster view is made: {} is {} on node {} and {} on node {}; start all nodes "
                "with the same",
                setting->name,
                value_text(*setting, heard.said.settings),
                node.value,
                value_text(*setting, options_.settings),
                options_.self.id.value);
  }
  return setting == nullptr;
}

void ViewKeeper::found(std::uint64_t now_ms) {
  std::vector<Member> nodes = founders(now_ms);
  if (nodes.empty()) {
    pause_end_ms_ = 0;
  } else if (pause_is_over(nodes, now_ms)) {
    propose(membership::founding_command(options_.settings, std::move(nodes)));
  }
}

// A node that is in its first life has no data of an earlier release.
bool ViewKeeper::pause_is_over(const std::vector<Member>& founders, std::uint64_t now_ms) {
  const bool all_new = std::ranges::all_of(
      founders, [](const Member& each) { return each.incarnation == incarnation_of(0, 1); });
  if (all_new || options_.pause_ms == 0) {
    return true;
  }
  if (pause_end_ms_ == 0) {
    pause_end_ms_ = now_ms + options_.pause_ms;
    log_info(
        LogComponent::Node,
        "all nodes have cluster views; the first one is made in {} s (--view-after), and until "
        "then the nodes can go back to an earlier release",
        options_.pause_ms / 1000);
  }
  return now_ms >= pause_end_ms_;
}

std::vector<NodeId> ViewKeeper::others() const {
  const membership::ClusterView& view = environment_.machine.views().view();
  std::vector<NodeId> nodes;
  if (view.epoch != 0) {
    nodes = nodes_of(view);
    std::erase(nodes, options_.self.id);
    return nodes;
  }
  for (const auto& [node, address] : options_.peers) {
    nodes.push_back(node);
  }
  return nodes;
}

// Each as it said itself to be.
std::vector<Member> ViewKeeper::founders(std::uint64_t now_ms) {
  if (environment_.machine.views().is_empty() && !environment_.all_have()) {
    return {};
  }
  std::map<NodeId, Member> nodes;
  nodes.emplace(options_.self.id, described(options_.self.id, options_.self));
  for (const NodeId node : others()) {
    const auto heard = heard_.find(node);
    if (heard == heard_.end() || !agree(heard->second, node, now_ms)) {
      return {};
    }
    nodes.emplace(node, described(node, heard->second.said.self));
  }
  std::vector<Member> result;
  for (auto& [node, member] : nodes) {
    result.push_back(std::move(member));
  }
  return result;
}

// Once all nodes say the same settings, if these are not the view's. Whether it was proposed.
bool ViewKeeper::retune(std::uint64_t now_ms) {
  const membership::ClusterView& view = environment_.machine.views().view();
  if (difference(view.settings, options_.settings) == nullptr || founders(now_ms).empty()) {
    return false;
  }
  propose({.kind = ViewCommandKind::Retune,
           .expected = view.epoch,
           .settings = options_.settings,
           .nodes = {},
           .change = {},
           .step = {}});
  return true;
}

// What a node of the view said of itself; nothing: it has said nothing.
std::optional<Member> ViewKeeper::said_of(const Member& known) const {
  const auto heard = heard_.find(known.id);
  const bool own = known.id == options_.self.id;
  if (known.state == membership::MemberState::Removed || (!own && heard == heard_.end())) {
    return std::nullopt;
  }
  // The view has given the number to another directory since.
  if (!own && generation_of(heard->second.incarnation) < generation_of(known.incarnation)) {
    return std::nullopt;
  }
  return described(known.id, own ? options_.self : heard->second.said.self);
}

// Every node looks, so that the log of the one which says another's address has it, too.
void ViewKeeper::look_at_claims() {
  const membership::ClusterView& view = environment_.machine.views().view();
  AddressClaims claims;
  for (const Member& known : view.nodes) {
    if (known.state != membership::MemberState::Removed && !known.invitation) {
      claims.add(said_of(known).value_or(known));
    }
  }
  granted_.clear();
  std::vector<AddressClash> clashes;
  for (const Member& known : view.nodes) {
    if (auto said = said_of(known)) {
      granted_.push_back(claims.granted(known, *std::move(said), clashes));
    }
  }
  clashes_gauge_.set(static_cast<std::int64_t>(clashes.size()));
  if (std::exchange(clashes_, clashes) == clashes) {
    return;
  }
  for (const AddressClash& clash : clashes) {
    log_error(
        LogComponent::Node,
        "GC{} {}",
        static_cast<std::uint32_t>(protocol::ErrorCode::MemberAddressTaken),
        protocol::make_error(protocol::ErrorCode::MemberAddressTaken, clash_text(clash)).message());
  }
}

// One at a time: each is a view of its own.
void ViewKeeper::describe() {
  const membership::ClusterView& view = environment_.machine.views().view();
  for (const Member& granted : granted_) {
    const Member* const known = protocol::find_member(view, granted.id);
    if (known != nullptr && differs(*known, granted)) {
      return propose({.kind = ViewCommandKind::Describe,
                      .expected = view.epoch,
                      .settings = {},
                      .nodes = {granted},
                      .change = {},
                      .step = {}});
    }
  }
}

// What it left open is taken from the fixed list, and where that has nothing, from the view.
Member ViewKeeper::described(NodeId node, const Member& said) const {
  Member member = said;
  const auto listed = options_.peers.find(node);
  if (member.peer_address.empty() && listed != options_.peers.end()) {
    member.peer_address = listed->second;
  }
  const Member* const known = protocol::find_member(environment_.machine.views().view(), node);
  if (known != nullptr && member.peer_address.empty()) {
    member.peer_address = known->peer_address;
  }
  if (known != nullptr && member.client_address.empty()) {
    member.client_address = known->client_address;
  }
  member.described = true;
  return member;
}

void ViewKeeper::propose(const ViewCommand& command) {
  cookie_ = cookies_.next();
  environment_.log.propose(kViewShard,
                           view_record(membership::encode_view_command(command),
                                       protocol::RecordOrigin::System,
                                       environment_.wall_ms()),
                           cookie_);
}

}  // namespace gcoord::server
