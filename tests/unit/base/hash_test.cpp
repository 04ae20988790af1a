// SPDX-License-Identifier: MIT
#include "slurmtune/base/hash.hpp"

#include <string>

#include "tests/support/catch.hpp"

using namespace slurmtune;

TEST_CASE("sha256_hex: gives the digests of FIPS 180-4", "[base]") {
  CHECK(sha256_hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256_hex(std::string(1'000'000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("sha256_hex: hashes all bytes, zeros included", "[base]") {
  CHECK(sha256_hex(std::string("a\0b", 3)) != sha256_hex("a"));
  CHECK(sha256_hex(std::string("a\0b", 3)) != sha256_hex(std::string("a\0c", 3)));
}
