#include "chaos/mutants/mutant_views.h"

#include "membership/view/command.h"
#include "server/interfaces/log_record.h"
#include "server/interfaces/passing_machine.h"

#include <optional>
#include <utility>
#include <vector>

namespace gcoord::chaos {
namespace {

using server::AppliedEntry;

// Behind the view machine: shut while that is given what is not in the log.
class Gate final : public server::WholePassingMachine {
 public:
  using WholePassingMachine::WholePassingMachine;

  void apply(const AppliedEntry& entry) override {
    if (!shut) {
      inner_.apply(entry);
    }
  }

  bool shut = false;
};

// A change of a view that is there.
std::optional<membership::ViewCommand> change_in(const AppliedEntry& entry) {
  const auto header = entry.kind == consensus::EntryKind::Command
                          ? server::decode_record_header(entry.payload)
                          : std::nullopt;
  if (!header || header->kind != server::RecordKind::View) {
    return std::nullopt;
  }
  auto command = membership::decode_view_command(server::record_body(entry.payload));
  return command && command->expected != 0 ? std::move(command) : std::nullopt;
}

class Around final : public server::WholePassingMachine {
 public:
  Around(Mutant mutant, server::StateMachine& views, Gate& gate)
      : WholePassingMachine(views), mutant_(mutant), gate_(gate) {}

  void apply(const AppliedEntry& entry) override {
    auto change = mutant_ == Mutant::None ? std::nullopt : change_in(entry);
    if (!change) {
      return inner_.apply(entry);
    }
    if (mutant_ == Mutant::ViewAppliedTwice) {
      inner_.apply(entry);
      ++change->expected;
      AppliedEntry again = entry;
      again.cookie = 0;
      return apply_as(*std::move(change), again);
    }
    AppliedEntry passed = entry;
    passed.cookie = 0;
    gate_.apply(passed);
    if (++changes_ % 5 == 0) {
      ++left_out_;
    } else {
      change->expected -= left_out_;
      apply_as(*std::move(change), entry);
    }
  }

 private:
  // The entry, with another change in it.
  void apply_as(membership::ViewCommand change, const AppliedEntry& entry) {
    change.change.expected = change.change.expected == 0 ? 0 : change.expected;
    const std::vector<std::byte> body = membership::encode_view_command(change);
    std::vector<std::byte> payload(
        entry.payload.begin(),
        entry.payload.begin() + static_cast<std::ptrdiff_t>(server::kRecordHeaderBytes));
    payload.insert(payload.end(), body.begin(), body.end());
    AppliedEntry changed = entry;
    changed.payload = payload;
    gate_.shut = true;
    inner_.apply(changed);
    gate_.shut = false;
  }

  Mutant mutant_;
  Gate& gate_;
  std::uint64_t changes_ = 0;
  std::uint64_t left_out_ = 0;
};

class Parts final : public MutantViews {
 public:
  Parts(Mutant mutant, NodeId node, server::StateMachine& inner)
      : mutant_(node == NodeId{2} ? mutant : Mutant::None), gate_(inner) {}

  server::StateMachine& behind() override { return gate_; }

  server::StateMachine& around(server::StateMachine& views) override {
    around_ = std::make_unique<Around>(mutant_, views, gate_);
    return *around_;
  }

 private:
  Mutant mutant_;
  Gate gate_;
  std::unique_ptr<Around> around_;
};

}  // namespace

std::unique_ptr<MutantViews> make_mutant_views(Mutant mutant,
                                               NodeId node,
                                               server::StateMachine& inner) {
  return std::make_unique<Parts>(mutant, node, inner);
}

}  // namespace gcoord::chaos
