// SPDX-License-Identifier: Apache-2.0
#include "storage/rocksdb/rocksdb_memtable.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <new>
#include <vector>

namespace codeq::storage {

namespace {

constexpr std::size_t height_max = 12;

/// On average one of so many nodes of a level is in the next level, too.
constexpr std::uint64_t branching = 4;

/// An entry of the list. The links follow it, then RocksDB's entry; all of it is in one piece.
struct alignas(8) node {
  std::uint64_t height;

  [[nodiscard]] std::atomic<node*>& next(std::size_t level) {
    return reinterpret_cast<std::atomic<node*>*>(this + 1)[level];
  }

  [[nodiscard]] char* entry() {
    return reinterpret_cast<char*>(reinterpret_cast<std::atomic<node*>*>(this + 1) + height);
  }

  [[nodiscard]] static constexpr std::size_t size_of(std::size_t height) {
    return sizeof(node) + height * sizeof(std::atomic<node*>);
  }
};

/// Where the latest entry of a prefix was inserted: for each level the last node before it, or the
/// entry itself. The node of a level is never behind the one of the level below.
using insert_place = std::array<node*, height_max>;

/// A skip list. One thread inserts while others read; nothing is ever removed.
class skip_list final : public rocksdb::MemTableRep {
public:
  skip_list(const KeyComparator& compare, rocksdb::Allocator* memory)
    : MemTableRep(memory), compare_(compare), head_(make_node(height_max, 0)) {
    last_.fill(head_);
  }

  rocksdb::KeyHandle Allocate(const std::size_t bytes, char** entry) override {
    auto* added = make_node(random_height(), bytes);
    *entry = added->entry();
    return added;
  }

  void Insert(rocksdb::KeyHandle added) override { insert(*static_cast<node*>(added), last_); }

  void InsertWithHint(rocksdb::KeyHandle added, void** hint) override {
    if (*hint == nullptr) {
      places_.emplace_back().fill(head_);
      *hint = &places_.back();
    }
    insert(*static_cast<node*>(added), *static_cast<insert_place*>(*hint));
  }

  [[nodiscard]] bool Contains(const char* entry) const override {
    auto* found = first_from(compare_.decode_key(entry));
    return found != nullptr && compare_(found->entry(), entry) == 0;
  }

  /// All memory is the allocator's.
  [[nodiscard]] std::size_t ApproximateMemoryUsage() override { return 0; }

  [[nodiscard]] Iterator* GetIterator(rocksdb::Arena*) override;

  // For iterators.

  [[nodiscard]] node* first() const { return head_->next(0).load(std::memory_order_acquire); }

  [[nodiscard]] node* last() const {
    auto* found = last_where([](node&) { return true; });
    return found == head_ ? nullptr : found;
  }

  /// The first node at or behind a key; null when there is none.
  [[nodiscard]] node* first_from(const rocksdb::Slice& key) const {
    return last_where([&](node& each) { return compare_(each.entry(), key) < 0; })
      ->next(0)
      .load(std::memory_order_acquire);
  }

  /// The last node before an entry, or before or at a key; null when there is none.
  [[nodiscard]] node* last_before(const char* entry) const {
    auto* found = last_where([&](node& each) { return compare_(each.entry(), entry) < 0; });
    return found == head_ ? nullptr : found;
  }

  [[nodiscard]] node* last_until(const rocksdb::Slice& key) const {
    auto* found = last_where([&](node& each) { return compare_(each.entry(), key) <= 0; });
    return found == head_ ? nullptr : found;
  }

private:
  class cursor;

  /// Memory of an iterator.
  struct slot {
    alignas(std::max_align_t) std::array<std::byte, 64> bytes;
  };

  /// Gives an iterator's memory back. RocksDB only destroys the iterators for which it passed an
  /// arena, and its interface is not public; so their memory is the list's.
  class borrowed_slot {
  public:
    borrowed_slot(skip_list& list, slot& memory) : list_(list), memory_(memory) {}

    borrowed_slot(const borrowed_slot&) = delete;
    borrowed_slot& operator=(const borrowed_slot&) = delete;
    ~borrowed_slot() { list_.give_back(memory_); }

  private:
    skip_list& list_;
    slot& memory_;
  };

  [[nodiscard]] node* make_node(std::size_t height, std::size_t entry_bytes) {
    constexpr auto alignment = alignof(node);
    char* memory = nullptr;
    MemTableRep::Allocate(node::size_of(height) + entry_bytes + alignment - 1, &memory);
    auto address = reinterpret_cast<std::uintptr_t>(memory);
    memory += (alignment - address % alignment) % alignment;
    auto* made = new (memory) node{height};
    for (std::size_t level = 0; level < height; ++level)
      new (&made->next(level)) std::atomic<node*>(nullptr);
    return made;
  }

  [[nodiscard]] std::size_t random_height() {
    std::size_t height = 1;
    // xorshift64
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    for (auto bits = random_; height < height_max && bits % branching == 0; bits /= branching)
      ++height;
    return height;
  }

  /// The last node of the whole list for which `is_before` holds, which ends at some node; or the
  /// head.
  template <class IsBefore>
  [[nodiscard]] node* last_where(IsBefore is_before) const {
    auto* at = head_;
    for (auto level = height_.load(std::memory_order_relaxed); level-- > 0;)
      at = walk(at, level, is_before);
    return at;
  }

  template <class IsBefore>
  [[nodiscard]] static node* walk(node* from, std::size_t level, IsBefore is_before) {
    for (;;) {
      auto* next = from->next(level).load(std::memory_order_acquire);
      if (next == nullptr || !is_before(*next))
        return from;
      from = next;
    }
  }

  void insert(node& added, insert_place& place) {
    const auto* entry = added.entry();
    auto is_before = [&](node& each) { return compare_(each.entry(), entry) < 0; };
    auto is_right = [&](std::size_t level) {
      if (place[level] != head_ && !is_before(*place[level]))
        return false;
      auto* next = place[level]->next(level).load(std::memory_order_relaxed);
      return next == nullptr || !is_before(*next);
    };
    if (added.height > height_.load(std::memory_order_relaxed))
      height_.store(added.height, std::memory_order_relaxed);
    // Up to a level where the place is right, then down again.
    std::size_t level = 0;
    while (level < height_max && !is_right(level))
      ++level;
    auto* from = level < height_max ? place[level] : head_;
    for (auto below = level; below-- > 0;)
      place[below] = from = walk(from, below, is_before);
    // Nodes between that were inserted at other places.
    for (auto above = level + 1; above < added.height; ++above)
      place[above] = walk(place[above], above, is_before);
    for (std::size_t each = 0; each < added.height; ++each) {
      auto& link = place[each]->next(each);
      added.next(each).store(link.load(std::memory_order_relaxed), std::memory_order_relaxed);
      link.store(&added, std::memory_order_release);
      place[each] = &added;
    }
  }

  [[nodiscard]] slot& borrow() {
    std::lock_guard lock(mutex_);
    if (free_.empty())
      return slots_.emplace_back();
    auto& memory = *free_.back();
    free_.pop_back();
    return memory;
  }

  void give_back(slot& memory) {
    std::lock_guard lock(mutex_);
    free_.push_back(&memory);
  }

  const KeyComparator& compare_;
  node* const head_;
  std::atomic<std::size_t> height_{1};

  // The writer's.
  std::uint64_t random_ = 0x9e3779b97f4a7c15;
  insert_place last_{};
  std::deque<insert_place> places_;

  /// Guards the slots.
  std::mutex mutex_;
  std::deque<slot> slots_;
  std::vector<slot*> free_;
};

/// The base that gives the memory back is destroyed last.
class skip_list::cursor final : private borrowed_slot, public rocksdb::MemTableRep::Iterator {
public:
  cursor(skip_list& list, slot& memory) : borrowed_slot(list, memory), list_(list) {}

  /// When the memory is given back, another thread may make its iterator there. A sanitizer must
  /// not clear the pointer to the functions behind that.
  [[gnu::no_sanitize("vptr")]] ~cursor() override {}

  /// The memory is not the heap's.
  static void operator delete(void*) {}

  [[nodiscard]] bool Valid() const override { return at_ != nullptr; }

  [[nodiscard]] const char* key() const override { return at_->entry(); }

  void Next() override { at_ = at_->next(0).load(std::memory_order_acquire); }

  void Prev() override { at_ = list_.last_before(at_->entry()); }

  void Seek(const rocksdb::Slice& key, const char*) override { at_ = list_.first_from(key); }

  void SeekForPrev(const rocksdb::Slice& key, const char*) override { at_ = list_.last_until(key); }

  void SeekToFirst() override { at_ = list_.first(); }

  void SeekToLast() override { at_ = list_.last(); }

private:
  skip_list& list_;
  node* at_ = nullptr;
};

rocksdb::MemTableRep::Iterator* skip_list::GetIterator(rocksdb::Arena*) {
  static_assert(sizeof(cursor) <= sizeof(slot));
  auto& memory = borrow();
  return ::new (&memory) cursor(*this, memory);
}

class memtable_factory final : public rocksdb::MemTableRepFactory {
public:
  using MemTableRepFactory::CreateMemTableRep;

  [[nodiscard]] rocksdb::MemTableRep* CreateMemTableRep(
    const rocksdb::MemTableRep::KeyComparator& compare,
    rocksdb::Allocator* memory,
    const rocksdb::SliceTransform*,
    rocksdb::Logger*) override {
    return new skip_list(compare, memory);
  }

  [[nodiscard]] const char* Name() const override { return "codeq_skip_list"; }
};

} // namespace

std::shared_ptr<rocksdb::MemTableRepFactory> make_memtable_factory() {
  return std::make_shared<memtable_factory>();
}

} // namespace codeq::storage
