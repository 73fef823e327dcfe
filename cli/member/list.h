// gcoordctl member list: the newest view that any node has, and what each node sees of the others.
//
// All nodes are asked, one after the other. A node is a suspect while any other that answered does
// not hear it. One thread.
#pragma once

#include "cli/terminal/output.h"
#include "gcoord/members.h"
#include "gcoord/status.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace gcoord::cli {

class MemberRows {
 public:
  // What one node answered.
  void add(std::uint32_t node, const client::Result<client::MembershipView>& answer);

  // Why there is nothing to print: no node has a view. OK when one has.
  client::Status failure() const;

  Json json() const;
  Table table() const;

 private:
  struct Seen {
    std::uint32_t by = 0;
    client::MemberSighting sighting;
  };

  std::vector<Seen> seen_of(std::uint32_t node) const;
  std::uint64_t epoch_of(std::uint32_t node) const;

  client::MembershipView view_;
  client::Status failure_;
  std::vector<Seen> seen_;
  std::vector<std::pair<std::uint32_t, client::Status>> unreachable_;
};

class Context;

int list_members(Context& context);

}  // namespace gcoord::cli
