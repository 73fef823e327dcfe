#include "chaos/live/shim_page.h"

#include "chaos/process/shared_page.h"

#include <time.h>

namespace gcoord::chaos {

namespace {

std::int64_t boot_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

ShimPage::ShimPage(ShimControl* control, std::filesystem::path file, std::filesystem::path disk)
    : control_(control), file_(std::move(file)), disk_(std::move(disk)), undo_(disk_) {
  undo_ += ".undo";
}

ShimPage::~ShimPage() {
  unmap_shared_page(control_, sizeof(ShimControl));
}

Result<std::unique_ptr<ShimPage>> ShimPage::make(const std::filesystem::path& directory,
                                                 const std::string& name) {
  const auto file = directory / (name + ".control");
  std::error_code ignored;
  std::filesystem::remove(file, ignored);
  GCOORD_TRY(void* mapped, map_shared_page(file, sizeof(ShimControl)));
  std::unique_ptr<ShimPage> page{
      new ShimPage{static_cast<ShimControl*>(mapped), file, directory / name}};
  GCOORD_TRY_STATUS(clear_undo(page->undo_));
  return page;
}

void ShimPage::set_rate(std::uint32_t millionths) {
  const std::int64_t real = boot_ns();
  const std::int64_t rate = control_->rate_millionths.load();
  const std::int64_t gone = real - control_->real_base_ns.load();
  const std::int64_t shown = rate == 0 ? real
                                       : control_->shown_base_ns.load() + gone / 1'000'000 * rate +
                                             gone % 1'000'000 * rate / 1'000'000;
  control_->clock_sequence.fetch_add(1, std::memory_order_acq_rel);
  std::atomic_thread_fence(std::memory_order_release);
  control_->real_base_ns.store(real, std::memory_order_relaxed);
  control_->shown_base_ns.store(shown, std::memory_order_relaxed);
  control_->rate_millionths.store(millionths, std::memory_order_relaxed);
  // Release: pairs with the shim's acquire of an even number.
  control_->clock_sequence.fetch_add(1, std::memory_order_release);
}

void ShimPage::heal() {
  if (control_->rate_millionths.load() != 0) {
    set_rate(1'000'000);
  }
  control_->wall_offset_ns.store(0);
  control_->sync_delay_us.store(0);
  control_->sync_fails_in.store(0);
  control_->write_tears_in.store(0);
  control_->space_is_gone.store(0);
  control_->capacity_bytes.store(0);
}

std::vector<std::pair<std::string, std::string>> ShimPage::environment(
    const std::filesystem::path& library) const {
  return {{"LD_PRELOAD", library.string()},
          {kShimControlVariable, file_.string()},
          {kShimDiskVariable, disk_.string()},
          {kShimUndoVariable, undo_.string()}};
}

Result<PowerLoss> ShimPage::lose_power(std::uint64_t seed) const {
  return chaos::lose_power({.disk = disk_, .undo = undo_, .seed = seed});
}

}  // namespace gcoord::chaos
