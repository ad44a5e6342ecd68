// SPDX-License-Identifier: Apache-2.0
// A shared object without handlers.
extern "C" int something_else() {
  return 0;
}
