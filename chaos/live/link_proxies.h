// Proxies between the peer ports of a local cluster: one listener for each ordered pair of nodes,
// so that every frame from one node to another passes through here and can be harmed.
//
// Node `from` is configured to reach node `to` at port(from, to). A connection carries both
// directions, whoever called: the fault of (a, b) applies to all that a says to b. All input and
// output is done by one thread of its own. Functions may be called from any thread.
#pragma once

#include "chaos/live/link_faults.h"
#include "common/status.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace gcoord::chaos {

class LinkProxies {
 public:
  // The nodes' own peer ports, that of node 1 first.
  static Result<std::unique_ptr<LinkProxies>> start(const std::vector<std::uint16_t>& peer_ports,
                                                    std::uint64_t seed);
  ~LinkProxies();
  LinkProxies(const LinkProxies&) = delete;
  LinkProxies& operator=(const LinkProxies&) = delete;

  std::uint16_t port(std::uint32_t from, std::uint32_t to) const;

  // Of everything that `from` says to `to`, from now on.
  void set(std::uint32_t from, std::uint32_t to, const LinkFault& fault);
  void heal_all();

  LinkCounts counts() const;

 private:
  class Core;
  explicit LinkProxies(std::unique_ptr<Core> core);

  std::unique_ptr<Core> core_;
};

}  // namespace gcoord::chaos
