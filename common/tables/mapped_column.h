// A column that grows in place: zeroed pages from the kernel, moved by page tables, never copied.
//
// A vector that doubles copies everything inside one command; at a million locks that is a stall
// longer than an election timeout (measured: 0.5 s for all pools and indexes). Growing here costs
// the page tables only, and a page costs memory from its first touch on. Pointers into the column
// are void after resize(). Aborts when there is no memory. Host only; one thread.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace gcoord {

// The pages of one column.
class MappedPages {
 public:
  MappedPages() = default;
  ~MappedPages();
  MappedPages(const MappedPages&) = delete;
  MappedPages& operator=(const MappedPages&) = delete;

  // Keeps the content and adds zeroes; never shrinks.
  void resize(std::size_t bytes);

  void swap(MappedPages& other) noexcept {
    std::swap(start_, other.start_);
    std::swap(bytes_, other.bytes_);
  }

  void* start() const { return start_; }

  std::size_t bytes() const { return bytes_; }

 private:
  void* start_ = nullptr;
  std::size_t bytes_ = 0;  // Whole pages.
};

// Elements start as zero bytes, which must be a good value of T.
template <typename T>
class MappedColumn {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  void resize(std::size_t count) {
    pages_.resize(count * sizeof(T));
    count_ = count > count_ ? count : count_;
  }

  // Gives the pages back.
  void clear() { MappedColumn{}.swap(*this); }

  void swap(MappedColumn& other) noexcept {
    pages_.swap(other.pages_);
    std::swap(count_, other.count_);
  }

  T* data() const { return static_cast<T*>(pages_.start()); }

  std::size_t size() const { return count_; }

  T& operator[](std::size_t index) const { return data()[index]; }

  std::size_t memory_bytes() const { return pages_.bytes(); }

 private:
  MappedPages pages_;
  std::size_t count_ = 0;
};

}  // namespace gcoord
