// gcoordctl member list: the newest view that any node has, and what each node sees of the others.
//
// All nodes are asked, one after the other. A node is seen as suspect while any other that answered
// does not hear it or suspects it; whether the cluster holds it for failed stands in its state. One
// thread.
#pragma once

#include "cli/member/suspicion.h"
#include "cli/terminal/output.h"
#include "gcoord/members.h"
#include "gcoord/status.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace gcoord::cli {

class MemberRows {
 public:
  // What one node answered.
  void add(std::uint32_t node, const client::Result<client::MembershipView>& answer);

  // How far the shards are, while nodes are on their way.
  void set_progress(const client::MemberProgress& progress) { progress_ = progress; }

  const client::MembershipView& view() const { return view_; }

  // Why there is nothing to print: no node has a view. OK when one has.
  client::Status failure() const;

  Json json() const;
  // `now_ms`: Unix milliseconds here.
  Table table(std::uint64_t now_ms) const;

 private:
  std::vector<Seen> seen_of(std::uint32_t node) const;
  std::uint64_t epoch_of(std::uint32_t node) const;

  client::MembershipView view_;
  client::Status failure_;
  std::optional<client::MemberProgress> progress_;
  std::vector<Seen> seen_;
  std::vector<std::pair<std::uint32_t, client::Status>> unreachable_;
};

class Context;

int list_members(Context& context);

}  // namespace gcoord::cli
