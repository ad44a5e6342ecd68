// SPDX-License-Identifier: Apache-2.0
// A shared object that has nothing to do with handlers.
extern "C" int something_else() {
  return 0;
}
