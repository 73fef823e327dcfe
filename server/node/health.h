// The health of a node as others hear of it: the board behind /livez, /readyz and `gcoordctl
// health`, and the notices to systemd.
//
//   turns      the loop has turned lately (board.h)
//   serves     clients are answered, and the node is not stopping
//   majority   it hears a majority of its cluster; the detail names whom it does not hear
//   disk       writes become durable
//   ledger     it signs the cluster's ledger; a warning, because locks need no signature
//   alarms     it has raised none about the cluster; a warning, because the node itself is well
//   gpu        nothing is wrong with its GPU; a warning; only where it watches one
//
// The board for any thread; all else is the loop's.
#pragma once

#include "server/health/board.h"
#include "server/health/systemd_notify.h"
#include "server/history/node_ledger.h"
#include "server/interfaces/cluster_members.h"
#include "server/interfaces/replica_view.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace gcoord::server {

// Writes that wait for so long say that the disk stands still. A device that is merely slow makes
// headway in this time; health then is not what the operator should look at.
inline constexpr std::uint64_t kDiskLimitMs = 5000;

class NodeHealth {
 public:
  const HealthBoard& board() const { return board_; }

  // Whose majority counts from now on.
  void set_members(const ClusterMembers& members) { members_ = members; }

  // What the armed alarms of the node say, from now on; empty: there are none.
  void set_alarms(std::string texts) { alarms_ = std::move(texts); }

  // What is wrong with the GPU that the node watches, from now on; empty: nothing is.
  void set_gpu(std::string trouble) { gpu_ = std::move(trouble); }

  // Once per pass of the loop. Whether a look is due, about once a second.
  bool on_turn(std::uint64_t now_us);

  // How long the loop may sleep for the watchdog of systemd; `at_most` where there is none.
  std::uint64_t until_next_ms(std::uint64_t now_us, std::uint64_t at_most) const {
    return notify_.until_next_ms(now_us, at_most);
  }

  // When it is due, and when the node gets ready.
  void on_look(const NodeView& view, const NodeLedger& ledger, std::uint64_t now_ms);

  // The node serves and has heard a majority, for the first time.
  void on_ready();

  // The node gives its leaderships away and ends; `reason` is the signal's name.
  void on_stopping(const std::string& reason);

  // The same, but it is opened anew in this process: systemd, which ends a unit that says that it
  // stops and does not, hears only of a status.
  void on_reopening(const std::string& reason);

 private:
  HealthCheck serves_check() const;
  HealthCheck disk_check(const NodeView& view, std::uint64_t now_ms);
  void tell_status();

  ClusterMembers members_;
  std::string alarms_;
  std::optional<std::string> gpu_;  // None: it watches none.
  HealthBoard board_;
  SystemdNotify notify_;
  std::uint64_t next_look_us_ = 0;
  std::string stop_reason_;
  std::string status_;  // As it was told last.
  ledger::Lsn durable_lsn_;
  std::uint64_t durable_since_ms_ = 0;  // Since when it has not moved.
  bool durable_seen_ = false;
};

}  // namespace gcoord::server
