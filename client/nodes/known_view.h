// The cluster's nodes as this client knows them: by its newest view, or where there is none by the
// first Welcome.
//
// Pure; one thread.
#pragma once

#include "client/nodes/voter_lists.h"
#include "common/ids.h"
#include "protocol/hello.h"
#include "protocol/members/view_messages.h"

#include <cstdint>
#include <span>
#include <vector>

namespace gcoord::client {

class KnownView {
 public:
  // The nodes of the first Welcome count until there is a view.
  void begin(const protocol::Welcome& welcome);

  // A node says that it has the view of this epoch; 0: it has none, or does not say.
  void hear(std::uint64_t epoch);

  // Whether it says anything new: a newer view, or that earlier ones are left.
  bool take(const protocol::ViewAnswer& answer);

  // 0: no view is known.
  std::uint64_t epoch() const { return view_.epoch; }

  const protocol::ClusterView& view() const { return view_; }

  // A node named another one that this client has never heard of, as the leader of a shard: so it
  // may be of a newer view.
  void want() { wanted_ = true; }

  // Somebody was asked, or nobody can be.
  void asked() { wanted_ = false; }

  bool wanted() const { return wanted_; }

  // Whether a node was heard that has a newer view.
  bool behind() const { return heard_ > view_.epoch; }

  // Whether an acknowledgement of a node that has this epoch counts by voters(). One without a view
  // has lost its memory where others have one, unless it is of a release without views.
  bool counts(std::uint64_t epoch, bool says_epochs) const {
    return epoch <= view_.epoch && (epoch != 0 || heard_ == 0 || !says_epochs);
  }

  const VoterLists& voters() const { return voters_; }

  // Whether somebody may still go by earlier lists, as far as is known: they are to be asked for.
  bool has_earlier() const { return voters_.lists.size() > 1; }

  // Whether the node is known to have left.
  bool has_left(NodeId node) const;

  // Whether it is known to be a witness, which has no state to answer from.
  bool is_witness(NodeId node) const;

 private:
  protocol::ClusterView view_;
  std::uint64_t heard_ = 0;
  bool wanted_ = false;
  std::uint64_t settled_ = 0;
  VoterLists voters_;
};

// Where the nodes of a view are: as it says, else where they were known to be.
std::vector<protocol::NodeAddress> addresses_of(const protocol::ClusterView& view,
                                                std::span<const protocol::NodeAddress> known);

}  // namespace gcoord::client
