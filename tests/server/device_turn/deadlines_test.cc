// Rows that are due are found in the tick in which they are, whatever was looked at before.
#include "server/device_turn/deadlines.h"

#include "tests/server/device_turn/deadline_model.h"

#include <optional>

namespace gcoord::server {
namespace {

TEST(TurnDeadlines, AScanFindsEveryRowThatIsDueOnce) {
  for (const std::uint32_t rows : kScannedRows) {
    SCOPED_TRACE(rows);
    DeadlineModel model(rows, 40 + rows);
    std::optional<DeadlineModel::Turn> turn(model.turn());
    open_scan(*turn);
    for (std::uint32_t round = 0; round < 400 && !testing::Test::HasFailure(); ++round) {
      model.pass_time();
      DeadlineModel::scan(*turn);
      model.expect_found(*turn);
      model.step_rows();
      if (round % 8 == 0) {
        const DeadlineModel::Turn after = model.turn_after(*turn);
        turn.emplace(after);
        open_scan(*turn);
      }
      model.note(*turn);
    }
    EXPECT_GT(model.found(), 20u);
  }
}

}  // namespace
}  // namespace gcoord::server
