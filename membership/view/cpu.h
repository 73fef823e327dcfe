// The cluster view of a node: commands as bytes in, views out, and the state as bytes.
//
// There is one view in a cluster, so this is the thin loop over nothing but the log. One thread.
#pragma once

#include "membership/view/apply.h"
#include "membership/view/table.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace gcoord::membership {

class ViewCpu {
 public:
  ViewCpu() = default;

  // Begins with this view as its oldest, without changes.
  explicit ViewCpu(ClusterView view) { table_.base = table_.view = std::move(view); }

  // One command of the log. Refused: nothing is changed.
  ViewCode apply(std::span<const std::byte> command);

  // What the command would make of the newest view, if the code is Applied.
  ViewCode preview(const ViewCommand& command, ClusterView& view) const;

  const ClusterView& view() const { return table_.view; }

  // The view of this epoch, if it is still kept.
  std::optional<ClusterView> at(std::uint64_t epoch) const;

  // The epoch of the oldest view that at() gives; 0: there is none.
  std::uint64_t oldest() const;

  // Whether this very change, by its number, made the view that follows the one it expected.
  bool has_made(const MemberChange& change) const;

  // The epoch of the view that an order of this number made, if it is still kept and the order is
  // of this kind.
  std::optional<std::uint64_t> made_by(ViewCommandKind kind, std::uint64_t number) const;

  // Whether a command that only nodes with Feature::Members know has made the view, as far as that
  // can still be seen.
  bool has_steps() const;

  // Whether a node has joined with this token in one of the last changes.
  bool has_spent(const protocol::JoinToken& token) const;

  // The same of the node with this data directory.
  bool has_admitted(std::uint64_t directory, const protocol::JoinToken& token) const;

  // Whether there is nothing: no view, and none before.
  bool is_empty() const { return table_.view.epoch == 0; }

  // Equal states give equal bytes; an empty state none.
  void serialize(std::vector<std::byte>& bytes) const;

  // Nothing for bytes that serialize() does not give.
  static std::optional<ViewCpu> parse(std::span<const std::byte> bytes);

  friend bool operator==(const ViewCpu& a, const ViewCpu& b) = default;

 private:
  bool has_admission(const std::function<bool(const MemberStep&)>& wanted) const;

  ViewTable table_;
};

}  // namespace gcoord::membership
