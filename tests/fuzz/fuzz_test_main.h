// Runs a libFuzzer target as an ordinary test, where libFuzzer is absent (g++).
//
// A target is one file <room>_fuzz.cc that includes this header and defines both functions below.
// As a test, every seed is run, then a fixed number of mutations of each: flipped bits, replaced,
// removed, inserted, repeated and cut bytes, drawn from the counter-based generator, so each run
// tries the same inputs. Built with clang and GCOORD_LIBFUZZER, libFuzzer's own main takes over: it
// mutates by what it reaches, from the seeds that it first writes to the folder GCOORD_FUZZ_SEEDS.
#pragma once

#include "common/random.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#if defined(GCOORD_LIBFUZZER)
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#else
#include <gtest/gtest.h>
#endif

using FuzzInput = std::vector<std::uint8_t>;

// Must return 0 for any bytes, without a crash, a leak or unbounded memory.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t byte_count);

// Inputs from which mutations start: at least one that the code under test accepts.
std::vector<FuzzInput> fuzz_seeds();

namespace gcoord::fuzz {

// 2,000 per seed runs in seconds under the sanitizers; longer hunts are libFuzzer's.
inline constexpr std::uint64_t kMutationCount = 1000;
inline constexpr std::uint64_t kChangesMax = 4;

// One change of the input; `word` decides everything about it.
inline void mutate_once(FuzzInput& input, std::uint64_t word) {
  const auto at = input.empty() ? 0 : static_cast<std::ptrdiff_t>((word >> 8) % input.size());
  const auto byte = static_cast<std::uint8_t>(word >> 48);
  const auto length = static_cast<std::ptrdiff_t>(1 + (word >> 56) % 32);
  const auto end = static_cast<std::ptrdiff_t>(input.size());
  switch (input.empty() ? 3 : word % 6) {
    case 0:
      input[static_cast<std::size_t>(at)] ^= static_cast<std::uint8_t>(1u << (byte % 8));
      break;
    case 1:
      input[static_cast<std::size_t>(at)] = byte;
      break;
    case 2:
      input.erase(input.begin() + at, input.begin() + (at + length < end ? at + length : end));
      break;
    case 3:
      input.insert(input.begin() + at, static_cast<std::size_t>(length), byte);
      break;
    case 4: {
      const FuzzInput part(input.begin() + at,
                           input.begin() + (at + length < end ? at + length : end));
      input.insert(input.begin() + at, part.begin(), part.end());
      break;
    }
    default:
      input.resize(static_cast<std::size_t>(at));
      break;
  }
}

inline FuzzInput mutated(FuzzInput input, std::uint64_t seed_index, std::uint64_t mutation_index) {
  const std::uint64_t change_count =
      1 + gcoord::random64(seed_index, mutation_index, 0) % kChangesMax;
  for (std::uint64_t change = 1; change <= change_count; ++change) {
    mutate_once(input, gcoord::random64(seed_index, mutation_index, change));
  }
  return input;
}

}  // namespace gcoord::fuzz

#if defined(GCOORD_LIBFUZZER)
// libFuzzer calls it once, before it reads its folder of inputs.
extern "C" int LLVMFuzzerInitialize(int* /*argument_count*/, char*** /*arguments*/) {
  if (const char* folder = std::getenv("GCOORD_FUZZ_SEEDS"); folder != nullptr) {
    std::filesystem::create_directories(folder);
    const std::vector<FuzzInput> seeds = fuzz_seeds();
    for (std::size_t index = 0; index < seeds.size(); ++index) {
      std::ofstream file(std::filesystem::path(folder) / ("seed-" + std::to_string(index)),
                         std::ios::binary);
      file.write(reinterpret_cast<const char*>(seeds[index].data()),
                 static_cast<std::streamsize>(seeds[index].size()));
    }
  }
  return 0;
}
#else
// GCOORD_FUZZ_SUITE is the target's name, so that no two tests of the build share one.
TEST(GCOORD_FUZZ_SUITE, SurvivesItsSeedsAndTheirMutations) {
  const std::vector<FuzzInput> seeds = fuzz_seeds();
  ASSERT_FALSE(seeds.empty());
  for (std::size_t seed_index = 0; seed_index < seeds.size(); ++seed_index) {
    const FuzzInput& seed = seeds[seed_index];
    ASSERT_EQ(LLVMFuzzerTestOneInput(seed.data(), seed.size()), 0);
    for (std::uint64_t mutation = 0; mutation < gcoord::fuzz::kMutationCount; ++mutation) {
      const FuzzInput input = gcoord::fuzz::mutated(seed, seed_index, mutation);
      ASSERT_EQ(LLVMFuzzerTestOneInput(input.data(), input.size()), 0)
          << "seed " << seed_index << " mutation " << mutation;
    }
  }
}
#endif
