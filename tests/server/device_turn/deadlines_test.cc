// Rows that are due are found in the tick in which they are, whatever was looked at before.
#include "server/device_turn/deadlines.h"

#include "tests/server/device_turn/deadline_scenario.h"

#include <optional>

namespace gcoord::server {
namespace {

class HostGroup {
 public:
  explicit HostGroup(DeadlineModel& model) : model_(model), turn_(model.turn()) {
    open_scan(*turn_);
  }

  const DeadlineModel::Turn& turn() const { return *turn_; }

  void scan() { DeadlineModel::scan(*turn_); }

  void note(bool opens) {
    if (opens) {
      const DeadlineModel::Turn after = model_.turn_after(*turn_);
      turn_.emplace(after);
      open_scan(*turn_);
    }
    model_.note(*turn_);
  }

 private:
  DeadlineModel& model_;
  std::optional<DeadlineModel::Turn> turn_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(DeviceTurn, TurnDeadlines, HostGroup);

}  // namespace
}  // namespace gcoord::server
