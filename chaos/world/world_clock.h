// A machine's clock in a simulated world: the world's time, at a rate of its own.
//
// Converts both ways in integers, so that all replays agree. Plain value.
#pragma once

#include <cstdint>

namespace gcoord::chaos {

class WorldClock {
 public:
  // Shows `shows_us` at the world's time `world_us`.
  void set(std::uint64_t world_us, std::uint64_t shows_us) {
    world_us_ = world_us;
    shows_us_ = shows_us;
  }

  // From now on fast or slow by so many parts per million.
  void set_rate(std::uint64_t world_us, std::int64_t off_ppm) {
    set(world_us, at(world_us));
    rate_ppm_ = static_cast<std::uint64_t>(kMillion + off_ppm);
  }

  std::uint64_t at(std::uint64_t world_us) const {
    return shows_us_ + (world_us - world_us_) * rate_ppm_ / kMillion;
  }

  // When in the world it shows this, rounded up; not before the last change of its rate.
  std::uint64_t world_at(std::uint64_t shows_us) const {
    const std::uint64_t ahead = shows_us > shows_us_ ? shows_us - shows_us_ : 0;
    return world_us_ + (ahead * kMillion + rate_ppm_ - 1) / rate_ppm_;
  }

 private:
  static constexpr std::int64_t kMillion = 1'000'000;

  std::uint64_t world_us_ = 0;
  std::uint64_t shows_us_ = 0;
  std::uint64_t rate_ppm_ = kMillion;
};

}  // namespace gcoord::chaos
