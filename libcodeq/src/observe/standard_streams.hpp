// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace codeq::observe {

/// Opens to nowhere those of the three standard descriptors that the process was started without.
/// Otherwise the next file or socket would get the number, and log lines would be written into it:
/// into a store, say. To be called first in `main`, before anything is opened.
void open_standard_streams() noexcept;

} // namespace codeq::observe
