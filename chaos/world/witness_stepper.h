// The product's stepper with a witness beside it, who sees every step, and every message before it
// leaves. Votes in a trace are what a node has in mind; what binds it is what it said (I2). One
// thread.
#pragma once

#include "consensus/step/forwarding_stepper.h"

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

  WitnessStepper(std::unique_ptr<Stepper> stepper, OnMessage on_message, OnStep on_step)
      : ForwardingStepper(std::move(stepper)),
        on_message_(std::move(on_message)),
        on_step_(std::move(on_step)) {}

  Status step(std::span<const std::uint32_t> rows,
              std::span<const consensus::Inbox> in,
              std::span<consensus::Outbox> out,
              const consensus::StepInput& input) override {
    const Status stepped = ForwardingStepper::step(rows, in, out, input);
    for (std::size_t k = 0; stepped.ok() && k < rows.size(); ++k) {
      on_step_(consensus::ShardRef(columns(), rows[k]), in[k], out[k]);
      for (std::uint32_t m = 0; m < out[k].message_count; ++m) {
        on_message_(out[k].message[m]);
      }
    }
    return stepped;
  }

  bool settle(const RowInput& given, consensus::Outbox& out) override {
    const bool settled = inner().settle(given, out);
    if (settled) {
      on_step_(consensus::ShardRef(columns(), given.row), given.in, out);
    }
    for (std::uint32_t m = 0; settled && m < out.message_count; ++m) {
      on_message_(out.message[m]);
    }
    return settled;
  }

 private:
  OnMessage on_message_;
  OnStep on_step_;
};

}  // namespace gcoord::chaos
