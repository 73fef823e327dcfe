#include "ledger/heads/round.h"

#include "common/assert.h"

#include <algorithm>
#include <utility>

namespace gcoord::server {

PublicationRound::PublicationRound(PublicationRoundOptions options,
                                   std::vector<ledger::ShardHead> heads)
    : options_(std::move(options)), heads_(std::move(heads)) {
  GCOORD_ASSERT(!heads_.empty() && heads_.size() <= kHeadsPerRoundMax);
  const bool votes = std::ranges::find(options_.nodes, options_.self) != options_.nodes.end();
  page_answers_.assign((heads_.size() + kHeadsPerPage - 1) / kHeadsPerPage, votes ? 1 : 0);
  for (const NodeId node : options_.nodes) {
    if (node != options_.self) {
      peers_.push_back({.node = node,
                        .sent_ms = std::vector<std::uint64_t>(page_count()),
                        .answered = std::vector<bool>(page_count())});
    }
  }
}

PageMessage PublicationRound::page(std::size_t index) const {
  PageMessage message{.batch = options_.batch,
                      .old_size = options_.old_size,
                      .page = static_cast<std::uint16_t>(index),
                      .page_count = static_cast<std::uint16_t>(page_count()),
                      .heads = {}};
  const std::size_t first = index * kHeadsPerPage;
  const std::size_t last = std::min(first + kHeadsPerPage, heads_.size());
  message.heads.assign(heads_.begin() + static_cast<std::ptrdiff_t>(first),
                       heads_.begin() + static_cast<std::ptrdiff_t>(last));
  return message;
}

void PublicationRound::send(std::uint64_t now_ms,
                            const std::function<void(NodeId, std::vector<std::byte>)>& send_to) {
  GCOORD_ASSERT(now_ms > 0);
  for (Peer& peer : peers_) {
    std::size_t under_way = 0;
    for (std::size_t k = 0; k < page_count() && under_way < kPagesUnderWay; ++k) {
      if (peer.answered[k]) {
        continue;
      }
      ++under_way;
      if (peer.sent_ms[k] == 0 || now_ms >= peer.sent_ms[k] + kResendMs) {
        peer.sent_ms[k] = now_ms;
        send_to(peer.node, encode(page(k)));
      }
    }
  }
}

bool PublicationRound::on_verdict(NodeId from, const VerdictMessage& verdict) {
  const auto peer = std::ranges::find(peers_, from, &Peer::node);
  if (peer == peers_.end() || verdict.batch != options_.batch || verdict.page >= page_count()) {
    return false;
  }
  const std::size_t first = verdict.page * kHeadsPerPage;
  const std::size_t width = std::min(kHeadsPerPage, heads_.size() - first);
  if (!verdict.exceptions.empty() && verdict.exceptions.back().index >= width) {
    return false;
  }
  if (peer->answered[verdict.page]) {
    return true;
  }
  peer->answered[verdict.page] = true;
  ++peer->answered_count;
  ++page_answers_[verdict.page];
  for (const HeadException& each : verdict.exceptions) {
    exceptions_[first + each.index][from] = each;
  }
  return true;
}

std::size_t PublicationRound::agreeing(std::size_t head) const {
  const auto exceptions = exceptions_.find(head);
  const std::size_t others = exceptions == exceptions_.end() ? 0 : exceptions->second.size();
  return page_answers_[head / kHeadsPerPage] - others;
}

bool PublicationRound::holds(std::uint64_t old_size,
                             std::span<const ledger::ShardHead> heads) const {
  const std::uint64_t first = old_size - options_.old_size;
  return old_size >= options_.old_size && first <= heads_.size() &&
         heads.size() <= heads_.size() - first &&
         std::ranges::equal(std::span(heads_).subspan(first, heads.size()), heads);
}

PublicationRound::Outcome PublicationRound::outcome(std::uint64_t now_ms) const {
  const bool answered = std::ranges::all_of(
      page_answers_, [this](std::size_t answers) { return answers >= majority(); });
  if (!answered) {
    return Outcome::Pending;
  }
  const bool agreed = std::ranges::all_of(
      exceptions_, [this](const auto& each) { return agreeing(each.first) >= majority(); });
  if (agreed) {
    return Outcome::Agreed;
  }
  const bool all = std::ranges::all_of(
      peers_, [this](const Peer& peer) { return peer.answered_count == page_count(); });
  return all || now_ms >= options_.begin_ms + kPatienceMs ? Outcome::Split : Outcome::Pending;
}

std::vector<PublicationRound::Dispute> PublicationRound::disputes() const {
  std::vector<Dispute> disputes;
  for (const auto& [head, exceptions] : exceptions_) {
    if (agreeing(head) >= majority()) {
      continue;
    }
    Dispute dispute{.head = heads_[head], .majority_root = std::nullopt};
    std::map<ledger::MerkleHash, std::size_t> roots;
    for (const auto& [node, each] : exceptions) {
      // A zero root is no root: a node that cannot read its tree says nothing about this one.
      if (each.verdict == HeadVerdict::Differs && each.root != ledger::MerkleHash{}) {
        dispute.differs = true;
        if (++roots[each.root] >= majority()) {
          dispute.majority_root = each.root;
        }
      }
    }
    disputes.push_back(dispute);
  }
  return disputes;
}

}  // namespace gcoord::server
