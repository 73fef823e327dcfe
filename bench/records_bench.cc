// What it costs to seal frames between nodes and to open them again.
//
//   Copy/N         a frame of N bytes copied into the sender's buffer and into the receiver's,
//   which
//                  is what a lane does with it that is not sealed
//   Seal/N         the first of these two as a sealed record
//   SealAndOpen/N  both of them
#include "security/records/opener.h"
#include "security/records/sealer.h"
#include "security/secret/keyed.h"

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace gcoord::security {
namespace {

struct Buffers {
  explicit Buffers(std::int64_t count)
      : frame(static_cast<std::size_t>(count), std::byte{7}),
        record(frame.size() + kRecordExtraBytes),
        opened(frame.size()) {}

  std::vector<std::byte> frame;
  std::vector<std::byte> record;
  std::vector<std::byte> opened;
};

void Copy(benchmark::State& state) {
  Buffers buffers{state.range(0)};
  for (auto unused : state) {
    static_cast<void>(unused);
    std::memcpy(buffers.record.data(), buffers.frame.data(), buffers.frame.size());
    benchmark::DoNotOptimize(buffers.record.data());
    benchmark::ClobberMemory();
    std::memcpy(buffers.opened.data(), buffers.record.data(), buffers.frame.size());
    benchmark::DoNotOptimize(buffers.opened.data());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

BENCHMARK(Copy)->Arg(64)->Arg(4096)->Arg(65536);

void Seal(benchmark::State& state) {
  Buffers buffers{state.range(0)};
  const SecretBytes secret = random_secret(32);
  RecordSealer sealer{secret.bytes(), RecordSide::Caller};
  for (auto unused : state) {
    static_cast<void>(unused);
    sealer.seal(buffers.frame, buffers.record, 0);
    benchmark::DoNotOptimize(buffers.record.data());
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

BENCHMARK(Seal)->Arg(64)->Arg(4096)->Arg(65536);

void SealAndOpen(benchmark::State& state) {
  Buffers buffers{state.range(0)};
  const SecretBytes secret = random_secret(32);
  RecordSealer sealer{secret.bytes(), RecordSide::Caller};
  RecordOpener opener{secret.bytes(), RecordSide::Caller, RecordOrder::Kept};
  for (auto unused : state) {
    static_cast<void>(unused);
    sealer.seal(buffers.frame, buffers.record, 0);
    if (opener.open(buffers.record, buffers.opened) != RecordVerdict::Opened) {
      state.SkipWithError("a record did not open");
      return;
    }
    benchmark::DoNotOptimize(buffers.opened.data());
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

BENCHMARK(SealAndOpen)->Arg(64)->Arg(4096)->Arg(65536);

}  // namespace
}  // namespace gcoord::security

BENCHMARK_MAIN();
