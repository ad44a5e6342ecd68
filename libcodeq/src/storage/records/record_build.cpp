// SPDX-License-Identifier: Apache-2.0
#include "storage/records/record_build.hpp"

namespace codeq::storage {

error mismatch(std::string_view what) {
  return {errc::corruption, "malformed record: " + std::string(what)};
}

} // namespace codeq::storage
