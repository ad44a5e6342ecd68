// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace codeq::observe {

/// Opens /dev/null for those standard descriptors that the process was started without. Otherwise
/// the next file or socket would get their number, and log lines would be written into it, for
/// example into the store. Call first in `main`, before anything is opened.
void open_standard_streams() noexcept;

} // namespace codeq::observe
