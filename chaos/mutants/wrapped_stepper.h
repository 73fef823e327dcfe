// A stepper around another: everything is the inner one's, but for what a class of it overrides.
// One thread, as any stepper.
#pragma once

#include "consensus/step/stepper.h"

#include <memory>
#include <utility>

namespace gcoord::chaos {

class WrappedStepper : public consensus::Stepper {
 public:
  explicit WrappedStepper(std::unique_ptr<Stepper> inner) : inner_(std::move(inner)) {}

  Status look_over() override { return inner_->look_over(); }

  const consensus::ShardColumns& columns() const override { return inner_->columns(); }

  void name_rows(const consensus::RowMap& map) override { inner_->name_rows(map); }

  bool columns_are_rows() const override { return inner_->columns_are_rows(); }

  std::uint32_t batch_rows() const override { return inner_->batch_rows(); }

  consensus::StepperReport report() const override { return inner_->report(); }

 protected:
  Stepper& inner() { return *inner_; }

 private:
  std::unique_ptr<Stepper> inner_;
};

}  // namespace gcoord::chaos
