// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace codeq::http {

/// A file of the dashboard, which becomes part of the program when it is built.
struct page_file {
  std::string_view name;
  std::string_view content_type;
  /// Differs for each content, in quotes.
  std::string_view etag;
  std::string_view bytes;
  /// The same, compressed with gzip.
  std::string_view zipped;
};

/// The files in `assets`.
[[nodiscard]] std::span<const page_file> page_files();

} // namespace codeq::http
