// The product's stepper with a witness beside it, who sees every step, and every message before it
// leaves. Votes in a trace are what a node has in mind; what binds it is what it said (I2). One
// thread.
#pragma once

#include "consensus/step/forwarding_stepper.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace gcoord::chaos {

class WitnessStepper final : public consensus::ForwardingStepper {
 public:
  using OnMessage = std::function<void(const consensus::Message&)>;
  // The row after the step.
  using OnStep = std::function<void(
      const consensus::ShardRef&, const consensus::Inbox&, const consensus::Outbox&)>;

  // Whether rows are told some things without a step where the inner stepper does that.
  enum class Settling : std::uint8_t { AsInner, Never };

  struct Witness {
    OnMessage on_message;
    OnStep on_step;
  };

  WitnessStepper(std::unique_ptr<Stepper> stepper, Settling settling, Witness witness)
      : ForwardingStepper(std::move(stepper)), settling_(settling), witness_(std::move(witness)) {}

  Status step(std::span<const std::uint32_t> rows,
              std::span<const consensus::Inbox> in,
              std::span<consensus::Outbox> out,
              const consensus::StepInput& input) override {
    const Status stepped = ForwardingStepper::step(rows, in, out, input);
    for (std::size_t k = 0; stepped.ok() && k < rows.size(); ++k) {
      show(rows[k], in[k], out[k]);
    }
    return stepped;
  }

  bool columns_are_rows() const override {
    return settling_ == Settling::AsInner && ForwardingStepper::columns_are_rows();
  }

  bool settle(const RowInput& given, consensus::Outbox& out) override {
    const bool settled = settling_ == Settling::AsInner && inner().settle(given, out);
    if (settled) {
      show(given.row, given.in, out);
    }
    return settled;
  }

 private:
  void show(std::uint32_t row, const consensus::Inbox& in, const consensus::Outbox& out) {
    witness_.on_step(consensus::ShardRef(columns(), row), in, out);
    for (std::uint32_t m = 0; m < out.message_count; ++m) {
      witness_.on_message(out.message[m]);
    }
  }

  Settling settling_;
  Witness witness_;
};

}  // namespace gcoord::chaos
