// The step of a row in a hurry in a kernel: parity of the whole step is compared tick by tick over
// whole clusters (chaos/parity/parity_run.h), that of the steady one follows from this.
#include "tests/consensus/steady_samples.h"
#include "tests/consensus/stepped_pairs.h"
#include "tests/hd_test.h"

namespace gcoord::consensus {
namespace {

constexpr std::uint32_t kDraws = 8;

HD_TEST(SteadyStepHd, ThatStaysSteadyIsTheWholeStep) {
  std::uint32_t stayed = 0;
  for (std::uint32_t k = 0; k < kDraws; ++k) {
    Draw draw(seed * kDraws + k);
    Given given;
    draw_given(draw, given);
    make_calm(draw, given);
    if (!is_plain(ref_of(given.row, ShardId{7}, kPlainSlots), given.input) ||
        !plain_inbox(given.in)) {
      continue;
    }
    Stepped steady = step_steadily(given);
    if (steady.out.beyond_plain == 0) {
      Stepped whole = step_as<StepScope::Whole>(given.row, given.in, given.message, given.input);
      HD_EXPECT(is_equal(steady, whole));
      ++stayed;
    }
  }
  HD_EXPECT(seed != 1 || stayed != 0);
}

}  // namespace
}  // namespace gcoord::consensus
