// SPDX-License-Identifier: Apache-2.0
#include "observe/standard_streams.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace codeq::observe {

void open_standard_streams() noexcept {
  // The kernel returns the lowest free number.
  int fd = -1;
  do
    fd = ::open("/dev/null", O_RDWR);
  while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd > STDERR_FILENO)
    ::close(fd);
}

} // namespace codeq::observe
