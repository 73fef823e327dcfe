// Forwarding stepper: it stands around another one and passes every call on, but settles no row, so
// that nothing passes it by. Who looks at steps, or changes them, overrides step(). One thread.
#pragma once

#include "consensus/step/stepper.h"

#include <memory>
#include <utility>

namespace gcoord::consensus {

class ForwardingStepper : public Stepper {
 public:
  explicit ForwardingStepper(std::unique_ptr<Stepper> inner) : inner_(std::move(inner)) {}

  Status step(std::span<const std::uint32_t> rows,
              std::span<const Inbox> in,
              std::span<Outbox> out,
              const StepInput& input) override {
    return inner_->step(rows, in, out, input);
  }

  Status look_over() override { return inner_->look_over(); }

  const ShardColumns& columns() const override { return inner_->columns(); }

  void name_rows(const RowMap& map) override { inner_->name_rows(map); }

  Status grow(std::uint32_t slot_count) override { return inner_->grow(slot_count); }

  bool columns_are_rows() const override { return inner_->columns_are_rows(); }

  std::uint32_t batch_rows() const override { return inner_->batch_rows(); }

  StepperReport report() const override { return inner_->report(); }

 protected:
  Stepper& inner() { return *inner_; }

 private:
  std::unique_ptr<Stepper> inner_;
};

}  // namespace gcoord::consensus
