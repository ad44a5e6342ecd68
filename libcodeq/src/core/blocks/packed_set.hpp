// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace codeq::core {

/// An element of a packed set; ordered by the first number, then by the second.
using number_pair = std::pair<std::uint64_t, std::uint64_t>;

/// An ordered set of pairs of numbers that needs a few bytes per pair: leaves of adjacent elements,
/// of which all but the first are stored as distances. For indexes with an element per waiting
/// task. Every operation is logarithmic in the number of leaves. Within a leaf, `insert` and
/// `pop_front` take constant time, amortised: new elements are only appended, and a leaf is sorted
/// when it is split or becomes the first one. The others are linear in one leaf, but for `erase` of
/// the first elements of a leaf, one after the other.
class packed_set {
public:
  /// The default size of a leaf, in elements: long leaves need the fewest bytes per element.
  static constexpr std::size_t long_leaf = 128;

  /// `leaf_elements_max`: the number of elements in a full leaf.
  explicit packed_set(std::size_t leaf_elements_max = long_leaf)
    : leaf_elements_max_(leaf_elements_max) {}

  /// @pre the pair is not in the set
  void insert(const number_pair& pair);

  /// False when the pair is not in the set.
  bool erase(const number_pair& pair);

  [[nodiscard]] bool contains(const number_pair& pair) const;

  [[nodiscard]] bool empty() const noexcept { return leaves_.empty(); }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// The first element. @pre not empty
  [[nodiscard]] const number_pair& front() const { return leaves_.begin()->first; }

  /// The number of elements at the front whose first numbers follow each other and whose second
  /// numbers are equal: at most `limit`, and those of one leaf. @pre not empty, `limit` > 0
  [[nodiscard]] std::size_t front_run(std::size_t limit);

  /// Removes the first element. @pre not empty
  void pop_front();

  /// The first element that is not less than `pair`; empty when there is none.
  [[nodiscard]] std::optional<number_pair> first_from(const number_pair& pair) const;

  /// Calls `visit` for each element, in ascending order, until it returns false.
  void for_each(const std::function<bool(const number_pair&)>& visit) const;

  /// Inserts these elements at once. @pre the set is empty, and `ascending` is in ascending order
  void assign(const std::vector<number_pair>& ascending);

  friend bool operator==(const packed_set& a, const packed_set& b) {
    return a.size_ == b.size_ && a.elements() == b.elements();
  }

private:
  /// The key is the smallest element; `bytes` from `skipped` on are the distances of the others,
  /// each from the one before it in the order of insertion.
  struct leaf {
    /// The element that was appended last.
    number_pair last;
    std::uint32_t count = 0;
    /// The first elements, as many as this, are in ascending order.
    std::uint32_t ordered = 0;
    std::uint32_t skipped = 0;
    std::string bytes;

    [[nodiscard]] bool is_ordered() const noexcept { return ordered == count; }
  };

  using leaf_map = std::map<number_pair, leaf>;

  /// The only leaf that may contain the pair, or the end.
  [[nodiscard]] leaf_map::const_iterator leaf_of(const number_pair& pair) const;

  /// The elements of a leaf, in ascending order.
  [[nodiscard]] std::vector<number_pair> unpack(const leaf_map::value_type& packed) const;

  static void append(leaf& target, const number_pair& pair);

  /// Replaces a leaf by one, or two halves, with these elements.
  void replace(leaf_map::const_iterator old, const std::vector<number_pair>& ascending);

  /// Removes the first element of a leaf.
  void pop_first_of(leaf_map::const_iterator at);

  /// Puts the elements of the first leaf in order.
  void order_front();

  /// Adds a leaf with the elements [from, to) of `ascending`.
  void add_leaf(const std::vector<number_pair>& ascending, std::size_t from, std::size_t to);
  [[nodiscard]] std::vector<number_pair> elements() const;

  std::size_t leaf_elements_max_;
  leaf_map leaves_;
  std::size_t size_ = 0;
};

} // namespace codeq::core
